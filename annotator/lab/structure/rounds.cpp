#include "annotator/lab/structure/rounds.h"

#include <algorithm>
#include <map>
#include <optional>

#include "annotator/lab/structure/releases.h"

namespace hotlens::lab {
namespace {

// Without releases.
std::vector<const Operator*> computing(const Draft& draft, const Call& call) {
  std::vector<const Operator*> all;
  for (std::size_t at = call.begin; at < call.end; ++at) {
    const Operator& op = draft.program.operators[at];
    if (op.kind != OperatorKind::free) all.push_back(&op);
  }
  return all;
}

// Whether two stretches of a program are alike, and which tensor of one stands where in the other.
class Likeness {
 public:
  explicit Likeness(const Draft& draft) : draft_(draft) {}

  bool same(const Call& one, const Call& other) {
    const auto mine = computing(draft_, one), theirs = computing(draft_, other);
    return std::ranges::equal(mine, theirs, [&](const Operator* a, const Operator* b) { return same(*a, *b); });
  }

  bool match(TensorId one, TensorId other) {
    if (one == kNoTensor || other == kNoTensor) return one == other;
    if (one != other && (is_held(one) || is_held(other))) return false;
    return there_.try_emplace(one, other).first->second == other && back_.try_emplace(other, one).first->second == one;
  }

  bool match(const std::vector<TensorId>& some, const std::vector<TensorId>& others) {
    return std::ranges::equal(some, others, [&](TensorId a, TensorId b) { return match(a, b); });
  }

  Ids take() { return std::move(there_); }

 private:
  bool is_held(TensorId id) const {
    const Tensor* tensor = draft_.listed(id);
    return tensor != nullptr && tensor->kind != TensorKind::input && tensor->kind != TensorKind::other;
  }

  bool same(const Value& one, const Value& other) {
    if (one.is.index() != other.is.index()) return false;
    if (const auto* tensor = std::get_if<TensorRef>(&one.is)) return match(tensor->id, std::get<TensorRef>(other.is).id);
    if (const auto* gradient = std::get_if<GradientRef>(&one.is)) return match(gradient->of, std::get<GradientRef>(other.is).of);
    const auto* values = std::get_if<Values>(&one.is);
    return values == nullptr ? one == other : same(*values, std::get<Values>(other.is));
  }

  bool same(const Values& some, const Values& others) {
    return std::ranges::equal(some, others, [&](const Value& a, const Value& b) { return same(a, b); });
  }

  bool same(const Operator& one, const Operator& other) {
    const bool alike = one.kind == OperatorKind::library && other.kind == one.kind && one.name == other.name &&
                       one.overload == other.overload && one.module == other.module && one.grad == other.grad &&
                       one.autocast == other.autocast && one.stage == other.stage;
    return alike && same(one.args, other.args) &&
           std::ranges::equal(one.kwargs, other.kwargs,
                              [&](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); }) &&
           match(one.out, other.out);
  }

  const Draft& draft_;
  Ids there_, back_;
};

class Finding {
 public:
  Finding(const Draft& draft, std::vector<std::vector<std::string>> paths) : draft_(draft), paths_(std::move(paths)) {}

  std::expected<Rounds, std::string> run(std::size_t number) {
    if (paths_.size() < 2) return std::unexpected("of one layer it is not known what their loop does with each");
    if (auto why = locate(number)) return std::unexpected(*why);
    complete_last();
    leave_out_shared();
    see_made();
    see_gathered();
    rounds_.next.emplace_back();
    for (std::size_t at = 1; at + 1 < rounds_.all.size(); ++at) {
      auto next = next_of(rounds_.all[at], rounds_.all[at + 1]);
      if (!next) return std::unexpected("their loop does not do the same with each");
      rounds_.next.push_back(std::move(*next));
    }
    if (rounds_.all.size() == 2) {
      auto next = next_of_two();
      if (!next) return std::unexpected("of two layers it is not known what their loop does with each");
      rounds_.next.push_back(std::move(*next));
    }
    if (!takes_from_the_last()) return std::unexpected("what their loop gives each does not come from the one before it alone");
    return std::move(rounds_);
  }

 private:
  std::optional<std::string> locate(std::size_t number) {
    std::size_t end = 0;
    for (const auto& layers : paths_) {
      Round round;
      for (const std::string& path : layers) {
        const auto calls = calls_of(draft_.program, path);
        if (number >= calls.size()) return "the layers of one loop are called another number of times";
        const Call& call = calls[number];
        const bool first = rounds_.all.empty() && round.calls.empty();
        if (call.begin < end) return "they are not called in order";
        round.before.push_back({.begin = first ? call.begin : end, .end = call.begin});
        if (calls_others(round.before.back())) return "they are not called one after another";
        round.calls.push_back(call);
        round.passing.push_back(passing(draft_, call));
        end = after_releases(draft_.program, call.end);
      }
      rounds_.all.push_back(std::move(round));
    }
    return std::nullopt;
  }

  // What stands in another call of the same operators where this is made.
  TensorId counterpart(TensorId id, const Call& in, const Call& other) const {
    const auto mine = computing(draft_, in), theirs = computing(draft_, other);
    const bool alike = std::ranges::equal(mine, theirs, [](const Operator* a, const Operator* b) {
      return a->name == b->name && a->overload == b->overload && a->out.size() == b->out.size();
    });
    for (std::size_t at = 0; alike && at < mine.size(); ++at) {
      const auto found = std::ranges::find(mine[at]->out, id);
      if (found != mine[at]->out.end()) return theirs[at]->out[static_cast<std::size_t>(found - mine[at]->out.begin())];
    }
    return kNoTensor;
  }

  // Nobody takes what the last hands on: `x, skip = layer(x)`, and `x` is used no more.
  void complete_last() {
    const Round& before = rounds_.all[rounds_.all.size() - 2];
    Round& last = rounds_.all.back();
    for (std::size_t layer = 0; layer < last.calls.size(); ++layer) {
      const std::vector<TensorId>& theirs = before.passing[layer].out;
      std::vector<TensorId>& out = last.passing[layer].out;
      if (out.size() >= theirs.size()) continue;
      std::vector<TensorId> all;
      for (const TensorId id : theirs) all.push_back(counterpart(id, before.calls[layer], last.calls[layer]));
      const bool whole = std::ranges::find(all, kNoTensor) == all.end() &&
                         std::ranges::all_of(out, [&](TensorId id) { return std::ranges::find(all, id) != all.end(); });
      if (!whole) continue;
      rounds_.last_differs = true;
      out = std::move(all);
    }
  }

  // What goes into all, a mask or edges, is no round's own. The first of many may get something else, as its loop begins.
  void leave_out_shared() {
    const std::size_t first = rounds_.all.size() > 2 ? 1 : 0, rounds = rounds_.all.size() - first;
    for (std::size_t layer = 0; layer < paths_.front().size(); ++layer) {
      std::map<TensorId, std::size_t> times;
      for (std::size_t at = first; at < rounds_.all.size(); ++at) {
        for (const TensorId id : rounds_.all[at].passing[layer].in) ++times[id];
      }
      for (Round& round : rounds_.all) {
        std::erase_if(round.passing[layer].in, [&](TensorId id) { return times[id] == rounds; });
      }
    }
  }

  bool calls_others(const Call& between) const {
    for (std::size_t at = between.begin; at < between.end; ++at) {
      const Operator& op = draft_.program.operators[at];
      if (!computes(op) || op.module == kNoModule) continue;
      const std::string& name = draft_.program.modules[op.module];
      for (const auto& layers : paths_) {
        if (std::ranges::any_of(layers, [&](const std::string& path) { return is_within(name, path); })) return true;
      }
    }
    return false;
  }

  // What exists before a round is not made by it: an operator may work in place.
  void see_made() {
    std::set<TensorId> before;
    std::size_t at = 0;
    const auto& operators = draft_.program.operators;
    for (Round& round : rounds_.all) {
      for (; at < round.before.front().begin; ++at) before.insert(operators[at].out.begin(), operators[at].out.end());
      for (; at < round.calls.back().end; ++at) {
        for (const TensorId id : operators[at].out) {
          if (id != kNoTensor && draft_.listed(id) == nullptr && !before.contains(id)) round.made.insert(id);
        }
      }
      before.insert(round.made.begin(), round.made.end());
    }
  }

  // As many of each round, one round's after the other's.
  bool lists_all(const Values& list) const {
    std::vector<std::size_t> from;
    for (const Value& value : list) {
      const auto* tensor = std::get_if<TensorRef>(&value.is);
      for (std::size_t at = 0; tensor != nullptr && at < rounds_.all.size(); ++at) {
        if (rounds_.all[at].made.contains(tensor->id)) from.push_back(at);
      }
    }
    const std::size_t each = from.size() / rounds_.all.size();
    if (each == 0 || from.size() % rounds_.all.size() != 0) return false;
    for (std::size_t at = 0; at < from.size(); ++at) {
      if (from[at] != at / each) return false;
    }
    return true;
  }

  void see_gathered() {
    const auto& operators = draft_.program.operators;
    for (std::size_t at = rounds_.all.back().calls.back().end; at < operators.size(); ++at) {
      if (operators[at].kind == OperatorKind::free || operators[at].out.size() != 1) continue;
      for (std::size_t argument = 0; argument < operators[at].args.size(); ++argument) {
        const auto* list = std::get_if<Values>(&operators[at].args[argument].is);
        if (list == nullptr || !lists_all(*list)) continue;
        for (const Value& one : *list) {
          const auto* tensor = std::get_if<TensorRef>(&one.is);
          for (Round& round : rounds_.all) {
            if (tensor != nullptr && round.made.contains(tensor->id)) round.gathered.insert(tensor->id);
          }
        }
        rounds_.together = operators[at].out.front();
        rounds_.list = argument;
        return;
      }
    }
  }

  std::optional<Ids> next_of(const Round& one, const Round& other) const {
    Likeness likeness(draft_);
    for (std::size_t at = 0; at < one.calls.size(); ++at) {
      const bool alike = likeness.same(one.before[at], other.before[at]) && likeness.match(one.passing[at].in, other.passing[at].in) &&
                         likeness.match(one.passing[at].out, other.passing[at].out);
      if (!alike) return std::nullopt;
    }
    return likeness.take();
  }

  // Of two rounds: what runs after the second has to be what ran between them, as of a loop whose body ends with it. A third would begin
  // so.
  std::optional<Ids> next_of_two() const {
    const Round &one = rounds_.all[0], &other = rounds_.all[1];
    const Call& between = other.before.front();
    const auto& operators = draft_.program.operators;
    const auto computing = [&](std::size_t at) { return operators[at].kind != OperatorKind::free; };
    std::size_t left = 0, end = after_releases(draft_.program, other.calls.back().end);
    const std::size_t begin = end;
    for (std::size_t at = between.begin; at < between.end; ++at) left += computing(at) ? 1 : 0;
    for (; left > 0 && end < operators.size(); ++end) left -= computing(end) ? 1 : 0;
    Likeness likeness(draft_);
    const bool alike = left == 0 && likeness.match(one.passing.back().out, other.passing.back().out) &&
                       likeness.same(between, {.begin = begin, .end = end});
    auto next = alike ? std::optional(likeness.take()) : std::nullopt;
    return next && takes_nothing_else(*next) ? next : std::nullopt;
  }

  // Whether all that the second of two rounds takes from the first is what runs between them, or what the first takes too.
  bool takes_nothing_else(const Ids& next) const {
    const Round &one = rounds_.all[0], &other = rounds_.all[1];
    std::set<TensorId> known = other.made;
    for (const auto& [id, there] : next) known.insert(id);
    for (std::size_t at = one.calls.front().begin; at < one.calls.back().end; ++at)
      for_each_tensor(draft_.program.operators[at], [&](TensorId id) { known.insert(id); });
    bool all = true;
    for (std::size_t at = other.before.front().end; at < other.calls.back().end; ++at) {
      const Operator& op = draft_.program.operators[at];
      if (op.kind == OperatorKind::free) continue;
      for_each_tensor(op, [&](TensorId id) {
        const bool inside = !other.made.contains(id) && draft_.listed(id) == nullptr && made_before(other, id);
        all = all && (!inside || known.contains(id));
      });
    }
    return all;
  }

  // By an operator before the round: what its calls make for themselves alone is no matter.
  bool made_before(const Round& round, TensorId id) const {
    const auto& operators = draft_.program.operators;
    return std::any_of(operators.begin(), operators.begin() + static_cast<std::ptrdiff_t>(round.before.front().begin),
                       [&](const Operator& op) { return std::ranges::find(op.out, id) != op.out.end(); });
  }

  // Each round takes what it takes from the one before, and but for the last nothing else takes what a round makes.
  bool takes_from_the_last() const {
    for (std::size_t at = 1; at < rounds_.next.size(); ++at) {
      for (const TensorId id : rounds_.taken(at)) {
        if (!rounds_.all[at].made.contains(rounds_.next[at].at(id))) return false;
      }
    }
    std::map<TensorId, std::size_t> ends;  // where what was made may be taken last
    for (std::size_t at = 0; at + 1 < rounds_.all.size(); ++at) {
      for (const TensorId id : rounds_.all[at].made) ends[id] = rounds_.all[at + 1].calls.back().end;
    }
    bool alone = true;
    for (std::size_t at = 0; at < draft_.program.operators.size(); ++at) {
      const Operator& op = draft_.program.operators[at];
      if (op.kind == OperatorKind::free) continue;
      for_each_tensor(op, [&](TensorId id) {
        const auto end = ends.find(id);
        alone = alone && (end == ends.end() || at < end->second || (is_gathered(id) && makes_together(op)));
      });
    }
    return alone;
  }

  bool makes_together(const Operator& op) const { return op.out.size() == 1 && op.out.front() == rounds_.together; }

  bool is_gathered(TensorId id) const {
    return std::ranges::any_of(rounds_.all, [&](const Round& round) { return round.gathered.contains(id); });
  }

  const Draft& draft_;
  const std::vector<std::vector<std::string>> paths_;
  Rounds rounds_;
};

}  // namespace

std::vector<TensorId> Rounds::taken(std::size_t round) const {
  std::vector<TensorId> some;
  const bool last = round == next.size();
  for (const auto& [id, there] : next[last ? round - 1 : round]) {
    const TensorId one = last ? there : id;
    if (id != there && !all[round].made.contains(one)) some.push_back(one);
  }
  return some;
}

TensorId Rounds::after(std::size_t round, TensorId id) const {
  return next[std::min(round, next.size() - 1)].at(id);
}

std::expected<Rounds, std::string> rounds_of(const Draft& draft, const std::vector<std::vector<std::string>>& paths, std::size_t number) {
  auto all = Finding(draft, paths).run(number);
  if (all || paths.size() < 3) return all;
  auto others = Finding(draft, {paths.begin() + 1, paths.end()}).run(number);
  if (!others) return all;
  others->first = 1;
  return others;
}

}  // namespace hotlens::lab
