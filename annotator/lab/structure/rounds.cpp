#include "annotator/lab/structure/rounds.h"

#include <algorithm>
#include <map>
#include <optional>

#include "annotator/lab/structure/handover.h"
#include "annotator/lab/structure/releases.h"

namespace hotlens::lab {
namespace {

std::size_t after_releases(const Draft& draft, std::size_t place) {
  const auto& operators = draft.program.operators;
  while (place < operators.size() && operators[place].kind == OperatorKind::free) ++place;
  return place;
}

// Whether two stretches of a program are alike, and which tensor of one stands where in the other.
class Likeness {
 public:
  explicit Likeness(const Draft& draft) : draft_(draft) {}

  bool same(const Call& one, const Call& other) {
    const auto mine = operators(one), theirs = operators(other);
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
  std::vector<const Operator*> operators(const Call& call) const {
    std::vector<const Operator*> all;
    for (std::size_t at = call.begin; at < call.end; ++at) {
      const Operator& op = draft_.program.operators[at];
      if (op.kind != OperatorKind::free) all.push_back(&op);
    }
    return all;
  }

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
    if (paths_.size() < 3) return std::unexpected("of fewer than three layers it is not known what their loop does with each");
    if (auto why = locate(number)) return std::unexpected(*why);
    leave_out_shared();
    see_made();
    rounds_.next.emplace_back();
    for (std::size_t at = 1; at + 1 < rounds_.all.size(); ++at) {
      auto next = next_of(rounds_.all[at], rounds_.all[at + 1]);
      if (!next) return std::unexpected("their loop does not do the same with each");
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
        end = after_releases(draft_, call.end);
      }
      rounds_.all.push_back(std::move(round));
    }
    return std::nullopt;
  }

  // What goes into all, a mask or edges, is no round's own.
  void leave_out_shared() {
    for (std::size_t layer = 0; layer < paths_.front().size(); ++layer) {
      std::map<TensorId, std::size_t> times;
      for (std::size_t at = 1; at < rounds_.all.size(); ++at) {
        for (const TensorId id : rounds_.all[at].passing[layer].in) ++times[id];
      }
      for (Round& round : rounds_.all) {
        std::erase_if(round.passing[layer].in, [&](TensorId id) { return times[id] + 1 == rounds_.all.size(); });
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

  std::optional<Ids> next_of(const Round& one, const Round& other) const {
    Likeness likeness(draft_);
    for (std::size_t at = 0; at < one.calls.size(); ++at) {
      const bool alike = likeness.same(one.before[at], other.before[at]) && likeness.match(one.passing[at].in, other.passing[at].in) &&
                         likeness.match(one.passing[at].out, other.passing[at].out);
      if (!alike) return std::nullopt;
    }
    return likeness.take();
  }

  // Each round takes what it takes from the one before, and but for the last nothing else takes what a round makes.
  bool takes_from_the_last() const {
    for (std::size_t at = 1; at + 1 < rounds_.all.size(); ++at) {
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
        alone = alone && (end == ends.end() || at < end->second);
      });
    }
    return alone;
  }

  const Draft& draft_;
  const std::vector<std::vector<std::string>> paths_;
  Rounds rounds_;
};

// What stands in the next round where this stands; of the last round's that it takes from the one before, what it makes itself.
TensorId after(const Rounds& rounds, std::size_t round, TensorId id) {
  return rounds.next[std::min(round, rounds.next.size() - 1)].at(id);
}

bool is_mentioned(const Draft& draft, TensorId id, std::size_t from) {
  const auto& operators = draft.program.operators;
  return std::any_of(operators.begin() + static_cast<std::ptrdiff_t>(from), operators.end(),
                     [&](const Operator& op) { return uses(op, id); });
}

// Without rounds [first, last): what stands for what the last of them makes.
std::map<TensorId, TensorId> pairs_of(const Rounds& rounds, std::size_t first, std::size_t last) {
  std::map<TensorId, TensorId> pairs;
  const auto pair = [&](TensorId id, std::size_t from, std::size_t to) {
    TensorId there = id;
    for (std::size_t at = from; at < to; ++at) there = after(rounds, at, there);
    pairs[there] = id;
  };
  for (const TensorId id : rounds.taken(first)) pair(id, first, last);
  if (last == rounds.all.size() && first > 1) {
    for (const TensorId id : rounds.all[first - 1].made) {
      if (rounds.next[first - 1].contains(id)) pair(id, first - 1, last - 1);
    }
  }
  return pairs;
}

// Without those before round `last`: its first call gets what the first of all got.
std::map<TensorId, TensorId> first_pairs(const Rounds& rounds, std::size_t last) {
  const auto &was = rounds.all[last].passing.front().in, &is = rounds.all[0].passing.front().in;
  std::map<TensorId, TensorId> pairs;
  for (std::size_t at = 0; at < std::min(was.size(), is.size()); ++at) pairs[was[at]] = is[at];
  return pairs;
}

}  // namespace

std::vector<TensorId> Rounds::taken(std::size_t round) const {
  std::vector<TensorId> some;
  const bool last = round + 1 == all.size();
  for (const auto& [id, there] : next[last ? round - 1 : round]) {
    const TensorId one = last ? there : id;
    if (id != there && !all[round].made.contains(one)) some.push_back(one);
  }
  return some;
}

std::expected<Rounds, std::string> rounds_of(const Draft& draft, const std::vector<std::vector<std::string>>& paths, std::size_t number) {
  auto all = Finding(draft, paths).run(number);
  if (all || paths.size() < 4) return all;
  auto others = Finding(draft, {paths.begin() + 1, paths.end()}).run(number);
  if (!others) return all;
  others->first = 1;
  return others;
}

std::expected<void, std::string> remove_rounds(Draft& draft, const Rounds& rounds, std::size_t first, std::size_t last) {
  const bool from_the_first = first == 0;
  if (from_the_first && last == rounds.all.size()) return std::unexpected("what their loop does without any is not known");
  const Call gone = from_the_first ? Call{rounds.all[0].calls.front().begin, rounds.all[last].calls.front().begin}
                                   : Call{rounds.all[first].before.front().begin, rounds.all[last - 1].calls.back().end};
  const std::map<TensorId, TensorId> pairs = from_the_first ? first_pairs(rounds, last) : pairs_of(rounds, first, last);
  if (!std::ranges::all_of(passing(draft, gone).out, [&](TensorId id) { return pairs.contains(id); }))
    return std::unexpected("what comes after them takes more than what their loop hands on");
  std::vector<Operator>& operators = draft.program.operators;
  std::vector<Operator> kept(operators.begin(), operators.begin() + static_cast<std::ptrdiff_t>(gone.begin));
  for (std::size_t at = gone.begin; at < operators.size(); ++at) {
    if (at >= gone.end || operators[at].kind == OperatorKind::free) kept.push_back(std::move(operators[at]));
  }
  operators = std::move(kept);
  for (const auto& [was, is] : pairs) {
    if (is_mentioned(draft, was, gone.begin)) hand_over(draft, was, is, gone.begin);
  }
  return {};
}

bool insert_rounds(Draft& draft, const Rounds& rounds, std::size_t after_round, std::size_t count, const CallLayer& call) {
  const std::size_t example = std::max<std::size_t>(after_round, 1);
  const Round &model = rounds.all[example], &before = rounds.all[after_round];
  const auto taken = rounds.taken(example);
  Ids state;  // what the example takes: what stands there now
  for (const TensorId id : taken) state[id] = after_round == 0 ? id : after(rounds, example, id);
  std::vector<Operator> made;
  Ids ids;
  for (std::size_t round = 0; round < count; ++round) {
    ids = state;
    for (std::size_t layer = 0; layer < model.calls.size(); ++layer) {
      std::ranges::move(copied(draft, draft, model.before[layer], ids), std::back_inserter(made));
      auto called = call(round, layer, model, ids);
      if (!called) return false;
      std::ranges::move(*called, std::back_inserter(made));
      const Call& call_shown = model.calls[layer];
      for (std::size_t at = call_shown.end; at < after_releases(draft, call_shown.end); ++at) {
        Operator release = draft.program.operators[at];
        if (!keep_only(release, [&](TensorId id) { return ids.contains(id); })) continue;
        rename(release, ids);
        made.push_back(std::move(release));
      }
    }
    for (const TensorId id : taken) state[id] = ids.at(after(rounds, example, id));
  }
  const std::size_t place = after_releases(draft, before.calls.back().end), more = made.size();
  std::vector<Operator>& operators = draft.program.operators;
  operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(place), std::make_move_iterator(made.begin()),
                   std::make_move_iterator(made.end()));
  if (after_round > 0) {
    for (const TensorId id : before.made) {
      if (!ids.contains(id) || !is_mentioned(draft, id, place + more)) continue;
      hand_over(draft, id, ids.at(id), place + more);
      draft.made.insert(id);
    }
    return true;
  }
  for (std::size_t at = place + more; at < model.calls.back().end + more; ++at) rename(operators[at], state);
  for (const TensorId id : taken) {
    if (draft.listed(id) == nullptr) draft.made.insert(id);
  }
  return true;
}

}  // namespace hotlens::lab
