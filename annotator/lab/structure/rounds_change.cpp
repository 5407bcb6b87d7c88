#include <algorithm>
#include <map>
#include <utility>

#include "annotator/lab/structure/handover.h"
#include "annotator/lab/structure/releases.h"
#include "annotator/lab/structure/rounds.h"

namespace hotlens::lab {
namespace {

bool is_mentioned(const Draft& draft, TensorId id, std::size_t from) {
  const auto& operators = draft.program.operators;
  return std::any_of(operators.begin() + static_cast<std::ptrdiff_t>(from), operators.end(),
                     [&](const Operator& op) { return uses(op, id); });
}

bool is_used(const Draft& draft, TensorId id, std::size_t from) {
  const auto& operators = draft.program.operators;
  return std::any_of(operators.begin() + static_cast<std::ptrdiff_t>(from), operators.end(),
                     [&](const Operator& op) { return op.kind != OperatorKind::free && uses(op, id); });
}

// What one operator takes of all rounds. Null: nothing.
Values* gathered_list(Draft& draft, const Rounds& rounds) {
  if (rounds.together == kNoTensor) return nullptr;
  const auto op = std::ranges::find_if(draft.program.operators, [&](const Operator& one) {
    return one.kind != OperatorKind::free && std::ranges::find(one.out, rounds.together) != one.out.end();
  });
  return op == draft.program.operators.end() ? nullptr : std::get_if<Values>(&op->args[rounds.list].is);
}

// Without the list: as if nothing took what it has.
Values take_list(Draft& draft, const Rounds& rounds) {
  Values* list = gathered_list(draft, rounds);
  return list == nullptr ? Values() : std::exchange(*list, {});
}

void put_back(Draft& draft, const Rounds& rounds, Values all) {
  if (Values* list = gathered_list(draft, rounds)) *list = std::move(all);
}

bool is_of(const Value& value, const std::set<TensorId>& some) {
  const auto* tensor = std::get_if<TensorRef>(&value.is);
  return tensor != nullptr && some.contains(tensor->id);
}

// Without rounds [first, last): what stands for what the last of them makes.
std::map<TensorId, TensorId> pairs_of(const Rounds& rounds, std::size_t first, std::size_t last) {
  std::map<TensorId, TensorId> pairs;
  const auto pair = [&](TensorId id, std::size_t from, std::size_t to) {
    TensorId there = id;
    for (std::size_t at = from; at < to; ++at) there = rounds.after(at, there);
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

std::expected<void, std::string> remove_rounds(Draft& draft, const Rounds& rounds, std::size_t first, std::size_t last) {
  const bool from_the_first = first == 0;
  if (from_the_first && last == rounds.all.size()) return std::unexpected("what their loop does without any is not known");
  Values list = take_list(draft, rounds);
  for (std::size_t at = first; at < last; ++at) std::erase_if(list, [&](const Value& one) { return is_of(one, rounds.all[at].gathered); });
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
    const bool gathered = std::ranges::any_of(rounds.all, [&](const Round& round) { return round.gathered.contains(was); });
    if (gathered ? is_used(draft, was, gone.begin) : is_mentioned(draft, was, gone.begin)) hand_over(draft, was, is, gone.begin);
  }
  put_back(draft, rounds, std::move(list));
  return {};
}

bool insert_rounds(Draft& draft, const Rounds& rounds, std::size_t after_round, std::size_t count, const CallLayer& call) {
  const std::size_t example = std::max<std::size_t>(after_round, 1);
  const Round &model = rounds.all[example], &before = rounds.all[after_round];
  const auto taken = rounds.taken(example);
  Values list = take_list(draft, rounds), more_of_list;
  Ids state;  // what the example takes: what stands there now
  for (const TensorId id : taken) state[id] = after_round == 0 ? id : rounds.after(example, id);
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
      for (std::size_t at = call_shown.end; at < after_releases(draft.program, call_shown.end); ++at) {
        Operator release = draft.program.operators[at];
        if (!keep_only(release, [&](TensorId id) { return ids.contains(id); })) continue;
        rename(release, ids);
        made.push_back(std::move(release));
      }
    }
    for (const TensorId id : taken) state[id] = ids.at(rounds.after(example, id));
    for (const Value& value : list) {
      if (!is_of(value, model.gathered)) continue;
      more_of_list.push_back(Value{TensorRef{ids.at(std::get<TensorRef>(value.is).id)}});
      draft.made.insert(std::get<TensorRef>(more_of_list.back().is).id);
    }
  }
  const std::size_t place = after_releases(draft.program, before.calls.back().end), more = made.size();
  std::vector<Operator>& operators = draft.program.operators;
  operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(place), std::make_move_iterator(made.begin()),
                   std::make_move_iterator(made.end()));
  if (after_round + 1 == rounds.all.size())
    postpone_others(draft.program, before.before.front().begin, before.calls.back().end, place, more);
  const auto put = [&] {
    const auto last = std::find_if(list.rbegin(), list.rend(), [&](const Value& value) { return is_of(value, before.gathered); });
    if (last != list.rend()) list.insert(last.base(), more_of_list.begin(), more_of_list.end());
    put_back(draft, rounds, std::move(list));
    return true;
  };
  if (after_round > 0) {
    for (const TensorId id : before.made) {
      const bool there = before.gathered.contains(id) ? is_used(draft, id, place + more) : is_mentioned(draft, id, place + more);
      if (!ids.contains(id) || !there) continue;
      hand_over(draft, id, ids.at(id), place + more);
      draft.made.insert(id);
    }
    return put();
  }
  for (std::size_t at = place + more; at < model.calls.back().end + more; ++at) rename(operators[at], state);
  for (const TensorId id : taken) {
    if (draft.listed(id) == nullptr) draft.made.insert(id);
  }
  return put();
}

}  // namespace hotlens::lab
