#include "annotator/lab/layers/changes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "annotator/lab/layers/effects/beside.h"
#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/effects/other_edits.h"
#include "annotator/lab/layers/effects/reach.h"
#include "annotator/lab/layers/match/forward.h"
#include "annotator/lab/layers/match/loops.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/match/recorded_layers.h"
#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
using nlohmann::json;

class ModuleComparison {
 public:
  ModuleComparison(const Sources& executed, const Sources& edited)
      : executed_(executed), edited_(edited), before_(executed, *all_.values) {}

  std::expected<Changes, Unclear> run(const json& table) {
    for (const json& module : table) recorded_[module.value("path", "")] = &module;
    if (!recorded_.contains("")) return refuse("no module is recorded");
    before_.run();
    const std::string type = recorded_.at("")->value("class", "");
    const auto old = roots(before_, type);
    const auto at = recorded_root(old, recorded_);
    if (!at) return refuse("how the model is made cannot be followed in the source (" + type + ")");
    all_.was = flattened(old[*at]);
    const auto others = other_roots(before_, recorded_, all_.was);
    for (const auto& [path, number] : others) add_below(all_.was, roots(before_, class_at(path))[number], path);
    if (auto why = unseen()) return std::unexpected(*why);
    std::map<std::string, Ref> known;
    learn(all_.was, recorded_, *all_.values, known);
    Interpreter before(executed_, *all_.values, known), after(edited_, *all_.values, known);
    before.run();
    after.run();
    if (auto why = failure(before, after)) return std::unexpected(std::move(*why));
    const auto again = roots(before, type), now = roots(after, type);
    if (again.size() != old.size() || now.size() != old.size()) return refuse("the edited script makes another number of models");
    all_.was = flattened(again[*at]);
    all_.is = flattened(now[*at]);
    std::map<std::string, std::pair<Ref, Ref>> pairs;
    for (const auto& [path, number] : others) {
      const auto was = roots(before, class_at(path)), is = roots(after, class_at(path));
      if (number >= was.size() || is.size() != was.size()) return refuse("the edited script makes another number of models");
      pairs[path] = {was[number], is[number]};
      add_below(all_.was, was[number], path);
      add_below(all_.is, is[number], path);
    }
    const Followed then{executed_, before}, edited{edited_, after};
    const Idle idle = idle_of(then, edited, recorded_);
    drop_idle_methods(then, idle.now);
    drop_idle_methods(edited, idle.now);
    if (auto why = other_modules(before, after)) return std::unexpected(*why);
    const auto beside = edit_beside(then, edited, all_.was, all_.is, idle);
    if (!beside) return std::unexpected(beside.error());
    all_.draws = beside->draws;
    all_.sized = beside->sized;
    const auto passed_by = [&](Node use) { return was_passed_by(edited_, use); };
    auto aligned = align(again[*at], now[*at], passed_by);
    if (!aligned) return std::unexpected(aligned.error());
    all_.alignment = std::move(*aligned);
    for (const auto& [path, pair] : pairs) {
      auto more = align(pair.first, pair.second, passed_by);
      if (!more) return std::unexpected(more.error());
      add(all_.alignment, std::move(*more), path);
    }
    note_script(before, after);
    if (auto why = other_edit(then, edited, all_.was, all_.alignment.compared, idle)) return std::unexpected(*why);
    after_ = &after;
    idle_ = &idle;
    auto why = collect();
    after_ = nullptr;
    idle_ = nullptr;
    if (why) return std::unexpected(*why);
    return std::move(all_);
  }

 private:
  static std::unexpected<Unclear> refuse(std::string reason) { return std::unexpected(Unclear{.reason = std::move(reason)}); }

  std::string class_at(const std::string& path) const { return recorded_.at(path)->value("class", ""); }

  // Whole numbers of the script's top level.
  void note_script(const Interpreter& before, const Interpreter& after) {
    const auto was = before.globals(), is = after.globals();
    const auto one = was.find(executed_.script), other = is.find(edited_.script);
    if (one == was.end() || other == is.end()) return;
    for (const auto& [name, value] : one->second->names) {
      const auto now = other->second->names.find(name);
      if (value->kind == Kind::integer && now != other->second->names.end() && now->second->kind == Kind::integer)
        all_.script.emplace_back(value->integer, now->second->integer);
    }
  }

  // Modules that the model does not hold: a loss, another model. The step may use them, and nothing here follows it.
  std::optional<Unclear> other_modules(const Interpreter& before, const Interpreter& after) const {
    const auto others = [](const Interpreter& followed, const Modules& held) {
      std::set<const Value*> inside;
      for (const auto& [path, module] : held) inside.insert(module);
      std::vector<Ref> all;
      std::ranges::copy_if(followed.modules(), std::back_inserter(all),
                           [&](const Ref& one) { return !inside.contains(one) && !followed.is_spare(one); });
      return all;
    };
    const auto was = others(before, all_.was), is = others(after, all_.is);
    const auto [one, other] = std::ranges::mismatch(
        was, is, {}, [](const Ref& module) { return written(*module); }, [](const Ref& module) { return written(*module); });
    if (one == was.end() && other == is.end()) return std::nullopt;
    const Ref shown_one = other == is.end() ? *one : *other;
    return Unclear{
        .reason = "something else than layers of the model was edited: " + shown(*shown_one) + (other == is.end() ? " is gone" : ""),
        .at = other == is.end() ? Line{} : line_of(shown_one->node)};
  }

  std::optional<Unclear> unseen() const {
    for (const auto& [path, module] : recorded_) {
      const std::string name = module->value("class", "");
      const bool other_root = path.starts_with(name) && path.find('.') == std::string::npos && !all_.was.contains(path);
      const bool below_other = std::ranges::any_of(
          recorded_, [&](const auto& one) { return one.first == one.second->value("class", "") && path.starts_with(one.first + "."); });
      if (all_.was.contains(path) || other_root || below_other || stands_for(all_.was, path)) continue;
      return Unclear{.reason = "how this layer is made cannot be followed in the source", .module = path};
    }
    return std::nullopt;
  }

  // What each edited layer was, or what it is modelled on; then what each has that is another.
  std::optional<Unclear> collect() {
    for (const auto& [path, is] : all_.is) all_.lines[path] = is->node ? line_of(is->node) : holder_line(path);
    const Modules recorded = std::move(all_.was);
    all_.was.clear();
    for (const auto& [path, is] : all_.is) {
      if (const auto kept = all_.alignment.kept.find(path); kept != all_.alignment.kept.end()) {
        all_.was[path] = recorded.at(kept->second);
        origins_[path] = kept->second;
      }
    }
    for (const auto& [path, model] : all_.alignment.models) {
      for (const auto& [below, is] : all_.is) {
        if (below != path && !below.starts_with(path + ".")) continue;
        const std::string like = model + below.substr(path.size());
        const auto kept = all_.alignment.kept.find(like);
        all_.was[below] = kept != all_.alignment.kept.end() ? recorded.at(kept->second) : all_.is.at(like);
        origins_[below] = kept != all_.alignment.kept.end() ? kept->second : like;
      }
    }
    for (const std::string& path : all_.alignment.order) {
      if (!all_.alignment.kept.contains(path) && recorded_.contains(path) && !recorded.contains(path))
        return Unclear{
            .reason = "another layer of this name is made by something that cannot be followed", .module = path, .at = all_.lines[path]};
    }
    for (const Gap& gap : all_.alignment.gaps) tell(gap, recorded);
    for (const auto& [path, was] : all_.was) {
      if (auto why = compare_layer(path, was, all_.is.at(path))) return why;
    }
    return std::nullopt;
  }

  // Layers that a constructor makes are told there, whoever calls them.
  void tell(const Gap& gap, const Modules& recorded) {
    const auto add = [&](const Step& step, std::string what, bool gone = false) {
      const Line& at = gap.is_forward() ? gap.at : all_.lines[gone ? gap.holder : step.path];
      all_.structural.push_back({step.function.empty() ? step.path : gap.holder, std::move(what), at});
    };
    const auto told = [&](const Step& step, const std::map<std::string, Ref>& modules) {
      return step.function.empty() ? shown(*modules.at(step.path)) : function_name(step);
    };
    const auto called = [&](const Step& step) { return gap.is_forward() && step.function.empty(); };
    if (gap.removed.size() == 1 && gap.inserted.size() == 1 && !(called(gap.removed[0]) && called(gap.inserted[0]))) {
      const auto name = [&](const Step& step, const std::map<std::string, Ref>& modules) {
        return step.function.empty() ? class_name(*modules.at(step.path)) : function_name(step);
      };
      const std::string was = name(gap.removed[0], recorded), is = name(gap.inserted[0], all_.is);
      const bool layers = gap.removed[0].function.empty() && gap.inserted[0].function.empty();
      if (layers && is_exchanged(*recorded.at(gap.removed[0].path), *all_.is.at(gap.inserted[0].path)))
        return add(gap.inserted[0], shown_change(*recorded.at(gap.removed[0].path), *all_.is.at(gap.inserted[0].path)));
      return add(gap.inserted[0], was == is ? told(gap.removed[0], recorded) + " → " + told(gap.inserted[0], all_.is) : was + " → " + is);
    }
    for (const Step& step : gap.removed) {
      if (!called(step)) add(step, told(step, recorded) + " removed", true);
      if (called(step) && !is_made_otherwise(step, &Gap::removed)) add(step, told(step, recorded) + " not called");
    }
    for (const Step& step : gap.inserted) {
      if (!called(step)) add(step, told(step, all_.is) + " added");
      if (called(step) && !is_made_otherwise(step, &Gap::inserted)) add(step, told(step, all_.is) + " called");
    }
  }

  // Whether a constructor makes the layer, or no longer does: that says it all.
  bool is_made_otherwise(const Step& step, std::vector<Step> Gap::* which) const {
    return std::ranges::any_of(all_.alignment.gaps, [&](const Gap& gap) {
      return !gap.is_forward() && std::ranges::find(gap.*which, step.path, &Step::path) != (gap.*which).end();
    });
  }

  Line holder_line(const std::string& path) const {
    const std::size_t dot = path.rfind('.');
    const auto holder = all_.is.find(dot == std::string::npos ? "" : path.substr(0, dot));
    if (holder == all_.is.end()) return {};
    const auto found = holder->second->attached.find(path.substr(dot == std::string::npos ? 0 : dot + 1));
    return found == holder->second->attached.end() ? Line{} : line_of(found->second);
  }

  // Of a layer whose constructor is known: what it is given under names, or at places, that are not.
  static std::optional<Unclear> other_arguments(const std::string& path, const Ref& was, const Ref& is, const Line& at) {
    const auto known = constructor_parameters(is->layer);
    if (known.empty()) return std::nullopt;
    const auto others = [&](const Arguments& given) {
      std::map<std::string, std::string> all;
      for (const auto& [name, value] : given.named) {
        if (std::ranges::find(known, name) == known.end()) all[name] = written(*value);
      }
      for (std::size_t place = known.size(); place < given.positional.size(); ++place)
        all["argument " + std::to_string(place + 1)] = written(*given.positional[place]);
      return all;
    };
    const auto before = others(was->given), after = others(is->given);
    for (const auto* one : {&after, &before}) {
      for (const auto& [name, value] : *one) {
        const auto& other = one == &after ? before : after;
        if (const auto found = other.find(name); found != other.end() && found->second == value) continue;
        return Unclear{.reason = "what `" + name + "` changes in " + class_name(*is) + " is not known", .module = path, .at = at};
      }
    }
    return std::nullopt;
  }

  std::optional<Unclear> compare_layer(const std::string& path, const Ref& was, const Ref& is) {
    const Line at = all_.lines[path];
    const auto parameters = constructor_parameters(is->layer);
    const bool container = is_container(is->layer);
    if (auto why = other_arguments(path, was, is, at)) return why;
    bool changed = false;
    for (const std::string_view name : parameters) {
      const Ref old = argument(*was, name), now = argument(*is, name);
      const bool differs = written_argument(*was, name) != written_argument(*is, name);
      if (differs && ((old && old->kind == Kind::unknown) || (now && now->kind == Kind::unknown)))
        return Unclear{.reason = "what `" + std::string(name) + "` is now cannot be followed", .module = path, .at = at};
      changed = changed || differs;
    }
    if (parameters.empty() && !container) {
      Value one = *was, other = *is;
      one.attributes = other.attributes = {};
      if (written(one) != written(other))
        return Unclear{.reason = "what this changes in " + class_name(*is) + " is not known", .module = path, .at = at};
    }
    if (changed) all_.changes.push_back({path, was, is, shown_change(*was, *is), at});
    return compare_attributes(path, was, is, at, changed);
  }

  // Parameters of the module's own; numbers are told to who follows shapes.
  std::optional<Unclear> compare_attributes(const std::string& path, const Ref& was, const Ref& is, const Line& at, bool changed) {
    for (const auto& [name, value] : is->attributes) {
      const Ref old = attribute_of(*was, name);
      const bool gone = all_.alignment.optional.contains(path.empty() ? name : path + "." + name);  // alignment says what that changes
      if (is_module(value) || gone || (old && written(*old) == written(*value))) continue;
      if (!old && is_plain(*value)) continue;  // no method that was recorded reads it
      if (old && is_own_number(path, name, *old, *value)) continue;
      const bool followed = is_of_plain(*value) || (value->kind == Kind::object && value->layer.empty() && !value->attributes.empty());
      if (followed && old) {
        if (auto why = compare_plain(path, is, name, *old, *value, 0)) return why;
        continue;
      }
      const bool tensor =
          value->kind == Kind::object && value->self && (value->self->text.starts_with("torch.") || value->self->text == "Parameter");
      if (value->kind == Kind::unknown || !old)
        return Unclear{.reason = "what `" + name + "` is now cannot be followed", .module = path, .at = at};
      if (tensor && !changed) {
        all_.changes.push_back({path, was, is, class_name(*is) + "." + name, holder_line(path.empty() ? name : path + "." + name)});
        changed = true;
      }
    }
    return std::nullopt;
  }

  // Numbers and words, and lists of them.
  static bool is_of_plain(const Value& value) {
    const bool list = value.kind == Kind::list || value.kind == Kind::tuple || value.kind == Kind::mapping;
    const auto plain = [](const Ref& one) { return is_of_plain(*one); };
    return is_plain(value) || (list && std::ranges::all_of(value.items, plain) && std::ranges::all_of(value.values, plain));
  }

  // Whether it is what counts the layers of a list (`layer_idx`): the number that each has in it, or so much more, of two that were
  // recorded at least. These ran alike with other numbers, and so does the next one.
  bool is_own_number(const std::string& path, const std::string& name, const Value& was, const Value& is) const {
    const auto origin = origins_.find(path);
    if (was.kind != Kind::integer || is.kind != Kind::integer || origin == origins_.end()) return false;
    const auto now = numbers_in(path), then = numbers_in(origin->second);
    if (now.size() != then.size()) return false;
    for (std::size_t place = 0; place < now.size(); ++place) {
      const std::int64_t more = is.integer - now[place].number;
      if (was.integer - then[place].number == more && counts(now[place], name, more)) return true;
    }
    return false;
  }

  struct NumberInPath {
    std::string before, after;
    std::int64_t number = 0;
  };

  static std::vector<NumberInPath> numbers_in(const std::string& path) {
    std::vector<NumberInPath> all;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('.', at), path.size());
      std::int64_t number = 0;
      const auto [stop, error] = std::from_chars(path.data() + at, path.data() + end, number);
      if (error == std::errc{} && stop == path.data() + end) all.push_back({path.substr(0, at), path.substr(end), number});
      at = end + 1;
    }
    return all;
  }

  // Whether all recorded layers of the list have their numbers and so much more.
  bool counts(const NumberInPath& of, const std::string& name, std::int64_t more) const {
    int found = 0;
    for (const auto& [path, origin] : all_.alignment.kept) {
      if (!path.starts_with(of.before) || !path.ends_with(of.after)) continue;
      for (const NumberInPath& one : numbers_in(origin)) {
        if (one.before != of.before || one.after != of.after) continue;
        const Ref held = attribute_of(*all_.was.at(path), name);
        if (!held || held->kind != Kind::integer || held->integer != one.number + more) return false;
        ++found;
      }
    }
    return found >= 2;
  }

  // Lists of one value, more or less often: `layer_types`.
  static bool are_alike(const Value& was, const Value& is) {
    if (was.kind != Kind::list || is.kind != Kind::list || was.items.empty() || is.items.empty()) return false;
    const std::string one = written(*was.items.front());
    const auto same = [&](const Ref& item) { return written(*item) == one; };
    return std::ranges::all_of(was.items, same) && std::ranges::all_of(is.items, same);
  }

  static bool is_only_indexed(Node node, const std::string& name) {
    if (node.is("attribute") && node.field("attribute").text() == name) {
      const Node above = node.parent();
      return above.is("subscript") && above.field("value").id() == node.id() && !above.field("subscript").is("slice");
    }
    return std::ranges::all_of(node.children(), [&](const Node& child) { return is_only_indexed(child, name); });
  }

  // A method that was followed, and that no other one names: `_make_layer`.
  bool only_constructs(const Value& type, const std::string& name, Node method) const {
    return after_->ran(method.id()) && std::ranges::none_of(type.scope->names, [&](const auto& one) {
             return one.second->kind == Kind::function && !after_->ran(one.second->node.id()) && mentions(one.second->node, name);
           });
  }

  // A number of the module's own, or of a configuration that it holds.
  std::optional<Unclear> compare_plain(const std::string& path, const Ref& module, const std::string& name, const Value& was,
                                       const Value& is, int depth) {
    if (was.kind == Kind::object && is.kind == Kind::object && depth < 3) {
      for (const auto& [inner, value] : is.attributes) {
        const Ref old = attribute_of(was, inner);
        if (!old || written(*old) == written(*value)) continue;
        if (auto why = compare_plain(path, module, inner, *old, *value, depth + 1)) return why;
      }
      return std::nullopt;
    }
    const auto number = [](const Value& value) { return value.kind == Kind::integer || value.kind == Kind::real; };
    const bool numbers = number(was) && number(is), whole = was.kind == Kind::integer && is.kind == Kind::integer;
    const auto alike_for_both = [&](Node use) { return numbers && is_compared_alike(use, *real_of(was), *real_of(is)); };
    const auto known = [&](Node use) {
      return was_passed_by(edited_, use) || is_compared_alike(use, *all_.was.at(path), *module) || alike_for_both(use) ||
             (numbers && is_followed_in_function(use, !whole, alike_for_both)) ||
             (whole && counts_list(use, all_.was.at(path), was.integer) && counts_list(use, module, is.integer));
    };
    bool used = false;
    const bool alike = are_alike(was, is);
    for (Ref type = module->self; type && type->kind == Kind::type;) {
      for (const auto& [method, function] : type->scope->names) {
        if (function->kind != Kind::function || method == "__init__" || is_inside(function->node, idle_->now) ||
            only_constructs(*type, method, function->node))
          continue;
        if (alike && is_only_indexed(function->node, name)) continue;
        used = used || mentions(function->node, name);
        const Node use = numbers                          ? other_use(function->node, name, true, !whole, known)
                         : mentions(function->node, name) ? function->node
                                                          : Node{};
        if (use)
          return Unclear{.reason = type->text + "." + method + " uses " + name + ", which was edited; what it does with it is not followed",
                         .module = path,
                         .at = line_of(use)};
      }
      const auto base = std::ranges::find(type->items, Kind::type, [](const Ref& one) { return one->kind; });
      type = base == type->items.end() ? nullptr : *base;
    }
    if (used)
      all_.changes.push_back(
          {path, all_.was.at(path), module, class_name(*module) + "." + name + " " + written(was) + " → " + written(is), all_.lines[path]});
    return std::nullopt;
  }

  const Sources &executed_, &edited_;
  Changes all_;
  Interpreter before_;
  const Interpreter* after_ = nullptr;  // while the edited text is compared
  const Idle* idle_ = nullptr;          // likewise
  Recorded recorded_;
  std::map<std::string, std::string> origins_;  // what was recorded of a module, or of the one it is modelled on, by edited path
};

}  // namespace

std::expected<Changes, Unclear> compare(const Sources& executed, const Sources& edited, const json& modules) {
  return ModuleComparison(executed, edited).run(modules);
}

}  // namespace hotlens::layers
