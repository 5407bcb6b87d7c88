#include "annotator/lab/layers/match/alignment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "annotator/lab/layers/match/compare_calls.h"
#include "annotator/lab/layers/match/loops.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/match/subsequence.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
using Children = std::vector<std::pair<std::string, Ref>>;

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

Children children(const Ref& module) {
  Children all;
  std::ranges::copy_if(module->attributes, std::back_inserter(all), [](const auto& one) { return is_module(one.second); });
  return all;
}

// A class of the script that has the name of one of torch.nn is another one.
bool same_class(const Value& was, const Value& is) {
  return class_name(was) == class_name(is) && was.self->kind == is.self->kind;
}

// Equal arguments make a better match than an equal class.
std::size_t likeness(const Value& was, const Value& is) {
  if (!same_class(was, is) || is_exchanged(was, is)) return 0;
  Value one = was, other = is;
  one.attributes = other.attributes = {};
  return written(one) == written(other) ? 3 : 2;
}

// Plain values that functions of the module's own take from around them: `LambdaLayer(lambda x: F.pad(x, (0, planes)))`.
std::string captured(const Value& module) {
  std::string all;
  for (const auto& [name, value] : module.attributes) {
    if (value->kind != Kind::function) continue;
    source::walk(value->node, [&](Node node) {
      for (const Scope* scope = value->scope; node.is("identifier") && scope != nullptr && scope->outer != nullptr; scope = scope->outer) {
        const auto found = scope->names.find(node.text());
        if (found == scope->names.end()) continue;
        if (is_plain(*found->second)) all += std::string(node.text()) + "=" + written(*found->second) + ";";
        break;
      }
      return true;
    });
  }
  return all;
}

// Same classes at the same places, whatever they are given.
bool same_build(const Ref& one, const Ref& other, int depth = 0) {
  const Children a = children(one), b = children(other);
  if (!same_class(*one, *other) || a.size() != b.size() || depth > 20 || captured(*one) != captured(*other)) return false;
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (a[at].first != b[at].first || !same_build(a[at].second, b[at].second, depth + 1)) return false;
  }
  return true;
}

// Also given the same.
bool same_layers(const Ref& one, const Ref& other, int depth = 0) {
  const Children a = children(one), b = children(other);
  return depth <= 20 && likeness(*one, *other) == 3 &&
         std::ranges::equal(a, b, [&](const auto& x, const auto& y) { return same_layers(x.second, y.second, depth + 1); });
}

IndexPairs pairs(const Children& was, const Children& is) {
  return common_subsequence(was.size(), is.size(), [&](std::size_t i, std::size_t j) { return likeness(*was[i].second, *is[j].second); });
}

// Where the last is another one than the rest: the last of both, if they are alike, and pairs before them.
IndexPairs pairs_with_last(const Children& was, const Children& is) {
  if (was.empty() || is.empty() || likeness(*was.back().second, *is.back().second) == 0) return pairs(was, is);
  IndexPairs all = pairs({was.begin(), was.end() - 1}, {is.begin(), is.end() - 1});
  all.emplace_back(was.size() - 1, is.size() - 1);
  return all;
}

class Aligner {
 public:
  explicit Aligner(const Skips& skips) : skips_(skips) {}

  std::expected<Alignment, Unclear> run(const Ref& was, const Ref& is) {
    match(was, is, "", "", nullptr, "");
    if (why_) return std::unexpected(*why_);
    list(is, "");
    for (const Gap& gap : all_.gaps) {
      for (const Step& step : gap.inserted) find_models(step.path, gap.rounds.has_value());
    }
    return std::move(all_);
  }

 private:
  void refuse(std::string reason, const std::string& path, Node at = {}) {
    if (!why_) why_ = Unclear{.reason = std::move(reason), .module = path, .at = line_of(at)};
  }

  // `holder`, `name`: of which module it is an attribute; null: of a container.
  void match(const Ref& was, const Ref& is, const std::string& old, const std::string& now, const Ref& holder, const std::string& name) {
    if (!seen_.insert(is).second) return;
    all_.kept[now] = old;
    const Children before = children(was), after = children(is);
    const bool list = is->layer == "ModuleList" && is->self->kind == Kind::external;
    if (!list && !is_sequence(*is)) return match_names(was, is, old, now, is->layer == "ModuleDict" && holder != nullptr ? holder : is);
    const bool last_apart = list && holder != nullptr && before.size() != after.size() && use_of_list(holder, name, skips_).last_apart;
    if (last_apart && !after.empty()) apart_.insert(below(now, after.back().first));
    const bool differs = match_entries(last_apart ? pairs_with_last(before, after) : pairs(before, after), before, after, is, old, now);
    if (differs && holder == nullptr && list) refuse("how the entries of this list are called is not known", now);
    if (!differs || holder == nullptr) return;
    if (list) return match_loop(before, old, now, holder, name);
    if (const auto use = first_other_call(holder->self, name, skips_)) refuse_use(holder, name, now, *use);
  }

  void refuse_use(const Ref& holder, const std::string& name, const std::string& now, Node use) {
    refuse("what " + class_name(*holder) + " does with `" + name + "` is not followed where its entries come and go", now, use);
  }

  // A list whose entries come and go.
  void match_loop(const Children& before, const std::string& old, const std::string& now, const Ref& holder, const std::string& name) {
    if (holder->layer.starts_with("Transformer") && holder->self->kind == Kind::external) return;  // of torch.nn: one after another
    const ListUse use = use_of_list(holder, name, skips_);
    if (use.kind == ListUse::Kind::other) return refuse_use(holder, name, now, use.at);
    if (use.kind == ListUse::Kind::hands_on) return;
    if (use.kind == ListUse::Kind::gathered) {
      for (Gap& gap : all_.gaps) gap.gathered = gap.gathered || (gap.holder == now && gap.sequence && !gap.is_forward());
      return;
    }
    Rounds rounds{.loop = use.at.id(), .entries = {}, .layers = {}};
    for (const auto& [entry, layer] : before) rounds.entries.push_back(below(old, entry));
    const bool lists = !before.empty() && std::ranges::all_of(before, [](const auto& one) { return one.second->layer == "ModuleList"; });
    for (const auto& [layer, value] : lists ? children(before.front().second) : Children()) rounds.layers.push_back("." + layer);
    if (!lists) rounds.layers.emplace_back();
    for (Gap& gap : all_.gaps) {
      if (gap.holder == now && gap.sequence && !gap.is_forward()) gap.rounds = rounds;
    }
  }

  // `owner`: whose methods use what it holds, as `self.parts.layers` of a ModuleDict.
  void match_names(const Ref& was, const Ref& is, const std::string& old, const std::string& now, const Ref& owner) {
    const bool rewritten = add_calls(was, is, old, now);
    const Children before = children(was), after = children(is);
    for (const auto& [name, value] : after) {
      const auto held = std::ranges::find(before, name, [](const auto& one) { return one.first; });
      const std::string path = below(now, name);
      if (held != before.end() && same_class(*held->second, *value) && !is_exchanged(*held->second, *value)) {
        match(held->second, value, below(old, name), path, owner, name);
      } else {
        Gap gap{.holder = now, .removed = {}, .inserted = {{path}}, .before = {}, .after = {}};
        if (held != before.end()) gap.removed.push_back({below(old, name)});
        if (held != before.end() && !is_like(*held->second, *value, is->self, name))
          refuse(class_name(*held->second) + " and " + class_name(*value) + " are not called alike, or give something else", path,
                 value->node);
        if (held == before.end() && !rewritten && !all_.optional.contains(path)) check_unread(is, name, path);
        add(std::move(gap), value);
      }
    }
    for (const auto& [name, value] : before) {
      const auto held = std::ranges::find(after, name, [](const auto& one) { return one.first; });
      if (held == after.end())
        all_.gaps.push_back({.holder = now, .removed = {{below(old, name)}}, .inserted = {}, .before = {}, .after = {}});
    }
  }

  // Whether entries came or went.
  bool match_entries(const IndexPairs& found, const Children& before, const Children& after, const Ref& holder, const std::string& old,
                     const std::string& now) {
    std::size_t i = 0, j = 0;
    bool differs = false;
    for (std::size_t at = 0; at <= found.size(); ++at) {
      const auto [next_i, next_j] = at < found.size() ? found[at] : std::pair(before.size(), after.size());
      Gap gap{.holder = now, .sequence = true, .removed = {}, .inserted = {}, .before = {}, .after = {}};
      std::vector<Ref> entries;
      for (; i < next_i; ++i) gap.removed.push_back({below(old, before[i].first)});
      for (; j < next_j; ++j) {
        gap.inserted.push_back({below(now, after[j].first)});
        entries.push_back(after[j].second);
      }
      for (std::size_t one = at; one-- > 0;) gap.before.push_back({below(old, before[found[one].first].first)});
      for (std::size_t one = at; one < found.size(); ++one) gap.after.push_back({below(old, before[found[one].first].first)});
      const bool shared = std::ranges::any_of(entries, [&](const Ref& entry) { return !fresh_.insert(entry).second; });
      if (shared) refuse("a layer stands at several places", now, holder->node);
      const bool open = !gap.removed.empty() || !gap.inserted.empty();
      differs = differs || open;
      if (open) all_.gaps.push_back(std::move(gap));
      if (at < found.size())
        match(before[i++].second, after[j++].second, below(old, before[next_i].first), below(now, after[next_j].first), nullptr, "");
    }
    return differs;
  }

  // What an edited forward calls otherwise. Whether it was edited.
  bool add_calls(const Ref& was, const Ref& is, const std::string& old, const std::string& now) {
    auto edited = compare_calls(was, is, skips_);
    if (!edited) {
      if (edited.error().module.empty()) edited.error().module = now;
      if (!why_) why_ = std::move(edited.error());
      return true;
    }
    all_.compared.merge(edited->compared);
    for (const std::string& name : edited->optional) all_.optional.insert(below(now, name));
    for (Gap& gap : edited->gaps) {
      gap.holder = now;
      gap.recorded_holder = old;
      for (auto* steps : {&gap.removed, &gap.before, &gap.after}) {
        for (Step& step : *steps) step.path = step.function.empty() ? below(old, step.path) : "";
      }
      for (Step& step : gap.inserted) step.path = step.function.empty() ? below(now, step.path) : "";
      all_.gaps.push_back(std::move(gap));
    }
    return edited->rewritten;
  }

  // Whether one can stand for the other wherever the class calls it.
  bool is_like(const Value& was, const Value& is, const Ref& holder, const std::string& name) const {
    const auto states = [](const Value& layer) { return layer.layer == "LSTM" ? 2 : layer.layer == "GRU" || layer.layer == "RNN" ? 1 : 0; };
    if ((states(was) == 0) != (states(is) == 0) || gives_several(was) || gives_several(is)) return false;
    if (first_other_call(holder, name, skips_)) return false;
    // The first states have a row for each of a batch, which is another dimension then.
    if (states(was) != 0 && written_argument(was, "batch_first") != written_argument(is, "batch_first")) return false;
    return states(was) == states(is) || !unpacks_states(holder, name, skips_);
  }

  static bool gives_several(const Value& layer) {
    return layer.layer == "MultiheadAttention" || (layer.self->kind == Kind::type && returns_several(layer.self));
  }

  void check_unread(const Ref& holder, const std::string& name, const std::string& path) {
    if (holder->self->kind != Kind::type) refuse("how entries of " + class_name(*holder) + " are called is not known", path);
    std::optional<Node> use;
    for_each_use(holder->self, name, skips_, [&](Node node) { use = use.value_or(node); });
    if (use) refuse("`" + name + "` is new, and " + source::qualified_name(*use) + " uses it; what it did before is not known", path, *use);
    if (reads_children(holder->self, skips_))
      refuse("`" + name + "` is new, and a method of " + class_name(*holder) + " goes through all layers", path);
  }

  void add(Gap gap, const Ref& value) {
    if (!fresh_.insert(value).second) refuse("a layer stands at several places", gap.inserted.front().path, value->node);
    all_.gaps.push_back(std::move(gap));
  }

  void list(const Ref& module, const std::string& path) {
    if (paths_.size() > 100'000 || !paths_.try_emplace(path, module).second || !listed_.insert(module).second) return;
    all_.order.push_back(path);
    for (const auto& [name, value] : children(module)) list(value, below(path, name));
  }

  // Layers of torch.nn are known; the nearest of the same build shows what another one calls.
  // `round`: of a loop whose other rounds show what is done with it.
  void find_models(const std::string& path, bool round) {
    const auto found = paths_.find(path);
    if (found == paths_.end() || all_.kept.contains(path)) return;
    const Ref module = found->second;
    if (is_sequence(*module)) {
      for (const auto& [name, value] : children(module)) find_models(below(path, name), round);
      return;
    }
    const bool known = module->self->kind == Kind::external && !constructor_parameters(module->layer).empty() && children(module).empty();
    if (known) return;
    const auto list_of = [](const std::string& entry) { return entry.substr(0, entry.rfind('.') + 1); };
    std::tuple<bool, bool, bool, std::size_t> nearest;
    for (const auto& [other, was] : all_.kept) {
      const auto example = paths_.find(other);
      if (other == path || example == paths_.end() || !same_build(example->second, module)) continue;
      if (module->self->kind == Kind::external && likeness(*example->second, *module) < 3) continue;
      const auto shared = static_cast<std::size_t>(std::ranges::mismatch(other, path).in1 - other.begin()) + 1;
      const std::tuple near(!apart_.contains(other), !round || list_of(other) == list_of(path), same_layers(example->second, module),
                            shared);
      if (near >= nearest) all_.models[path] = other;
      nearest = std::max(nearest, near);
    }
  }

  const Skips& skips_;
  Alignment all_;
  std::map<std::string, Ref> paths_;
  std::set<std::string> apart_;  // edited paths: the last of a list, where it is used otherwise than the others
  std::set<const Value*> seen_, fresh_, listed_;
  std::optional<Unclear> why_;
};

}  // namespace

Line line_of(Node node) {
  return node ? Line{node.code->path().string(), node.range().begin.line} : Line{};
}

bool is_module(const Ref& value) {
  return value->kind == Kind::object && !value->layer.empty();
}

std::string class_name(const Value& object) {
  const std::string& name = object.self->text;
  return name.substr(name.rfind('.') + 1);
}

bool is_sequence(const Value& module) {
  return module.layer == "Sequential" && (module.self->kind == Kind::external || !method_of(module.self, "forward"));
}

void add(Alignment& to, Alignment of, const std::string& path) {
  const auto prefixed = [&](const std::string& below) { return below.empty() ? path : path + "." + below; };
  for (const auto& [edited, recorded] : of.kept) to.kept[prefixed(edited)] = prefixed(recorded);
  for (const auto& [edited, other] : of.models) to.models[prefixed(edited)] = prefixed(other);
  for (const std::string& one : of.optional) to.optional.insert(prefixed(one));
  to.compared.merge(of.compared);
  for (const std::string& one : of.order) to.order.push_back(prefixed(one));
  for (Gap& gap : of.gaps) {
    gap.holder = prefixed(gap.holder);
    if (gap.is_forward()) gap.recorded_holder = prefixed(gap.recorded_holder);
    for (auto* steps : {&gap.removed, &gap.inserted, &gap.before, &gap.after}) {
      for (Step& step : *steps) step.path = prefixed(step.path);
    }
    if (gap.rounds) std::ranges::transform(gap.rounds->entries, gap.rounds->entries.begin(), prefixed);
    to.gaps.push_back(std::move(gap));
  }
}

std::expected<Alignment, Unclear> align(const Ref& was, const Ref& is, const std::function<bool(Node)>& skips) {
  return Aligner(skips).run(was, is);
}

}  // namespace hotlens::layers
