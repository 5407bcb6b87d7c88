#include "annotator/lab/structure/rounds.h"

#include <algorithm>
#include <map>
#include <optional>

#include "annotator/lab/structure/handover.h"

namespace hotlens::lab {
namespace {

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
           std::ranges::equal(one.out, other.out, [&](TensorId a, TensorId b) { return match(a, b); });
  }

  const Draft& draft_;
  Ids there_, back_;
};

class Finding {
 public:
  Finding(const Draft& draft, const std::vector<std::vector<std::string>>& paths) : draft_(draft), paths_(paths) {}

  std::expected<Rounds, std::string> run(std::size_t number) {
    if (paths_.size() < 3) return std::unexpected("of fewer than three layers it is not known what their loop does with each");
    if (auto why = locate(number)) return std::unexpected(*why);
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
        const auto flow = through(draft_, call);
        if (!flow) return path + " " + flow.error();
        round.calls.push_back(call);
        round.flows.push_back(*flow);
        end = call.end;
      }
      rounds_.all.push_back(std::move(round));
    }
    return std::nullopt;
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
      const bool alike = likeness.same(one.before[at], other.before[at]) && likeness.match(one.flows[at].in, other.flows[at].in) &&
                         likeness.match(one.flows[at].out, other.flows[at].out);
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
  const std::vector<std::vector<std::string>>& paths_;
  Rounds rounds_;
};

// What stands in the next round where this stands; of the last round's that it takes from the one before, what it makes itself.
TensorId after(const Rounds& rounds, std::size_t round, TensorId id) {
  return rounds.next[std::min(round, rounds.next.size() - 1)].at(id);
}

// Nothing else than the pairs says what is taken from rounds that go.
bool is_all(const Draft& draft, const Round& last, const std::map<TensorId, TensorId>& pairs) {
  bool all = true;
  for (std::size_t at = last.calls.back().end; at < draft.program.operators.size(); ++at) {
    const Operator& op = draft.program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    for_each_tensor(op, [&](TensorId id) { all = all && (!last.made.contains(id) || pairs.contains(id)); });
  }
  return all;
}

bool is_mentioned(const Draft& draft, TensorId id, std::size_t from) {
  const auto& operators = draft.program.operators;
  return std::any_of(operators.begin() + static_cast<std::ptrdiff_t>(from), operators.end(),
                     [&](const Operator& op) { return uses(op, id); });
}

std::size_t after_releases(const Draft& draft, std::size_t place) {
  const auto& operators = draft.program.operators;
  while (place < operators.size() && operators[place].kind == OperatorKind::free) ++place;
  return place;
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
  return Finding(draft, paths).run(number);
}

std::expected<void, std::string> remove_rounds(Draft& draft, const Rounds& rounds, std::size_t first, std::size_t last) {
  if (first == 0) return std::unexpected("what their loop does with the first is not known");
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
  if (!is_all(draft, rounds.all[last - 1], pairs))
    return std::unexpected("what comes after their loop takes more of the last than what it gives");
  std::vector<Operator>& operators = draft.program.operators;
  const std::size_t begin = rounds.all[first].before.front().begin, end = rounds.all[last - 1].calls.back().end;
  std::vector<Operator> kept(operators.begin(), operators.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t at = begin; at < operators.size(); ++at) {
    if (at >= end || operators[at].kind == OperatorKind::free) kept.push_back(std::move(operators[at]));
  }
  operators = std::move(kept);
  for (const auto& [was, is] : pairs) {
    if (is_mentioned(draft, was, begin)) hand_over(draft, was, is, begin);
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
      const Through& flow = model.flows[layer];
      const TensorId in = ids.contains(flow.in) ? ids.at(flow.in) : flow.in;
      auto called = call(round, layer, in, Operator(draft.program.operators[model.calls[layer].begin]));
      if (!called) return false;
      std::ranges::move(called->operators, std::back_inserter(made));
      ids[flow.out] = called->out;
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
