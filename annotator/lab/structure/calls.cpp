#include "annotator/lab/structure/calls.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace hotlens::lab {
namespace {

std::set<TensorId> made_in(const Draft& draft, const Call& call) {
  std::set<TensorId> before, made;
  for (std::size_t at = 0; at < call.end; ++at) {
    for (const TensorId id : draft.program.operators[at].out) {
      if (at < call.begin) before.insert(id);
      if (at >= call.begin && id != kNoTensor && draft.listed(id) == nullptr && !before.contains(id)) made.insert(id);
    }
  }
  return made;
}

// A mask, positions, edges: what each of several layers gets beside what goes through them. One more layer would get the same, one fewer
// leaves it to the others: the script brings it, others use it too, or it is a view that costs nothing.
bool is_beside(const Draft& draft, const Call& call, TensorId id) {
  if (draft.listed(id) != nullptr) return true;
  const auto& operators = draft.program.operators;
  for (std::size_t at = 0; at < operators.size(); ++at) {
    const Operator& op = operators[at];
    if (op.kind == OperatorKind::free || (at >= call.begin && at < call.end)) continue;
    if (std::ranges::find(op.out, id) != op.out.end()) {
      if (is_view(op)) return true;
    } else if (uses(op, id)) {
      return true;
    }
  }
  return false;
}

// Of several tensors that go into a call the one that goes through it: as large as what comes out, which the others are not, or are
// beside it.
TensorId stream(const Draft& draft, const Call& call, const std::vector<TensorId>& in, TensorId out) {
  const auto* whole = shape_of(draft, out, call.end);
  if (whole == nullptr) return kNoTensor;
  std::vector<TensorId> alike, own;
  for (const TensorId id : in) {
    const auto* shape = shape_of(draft, id, call.begin);
    if (shape != nullptr && *shape == *whole) {
      alike.push_back(id);
    } else if (shape == nullptr || !is_beside(draft, call, id)) {
      return kNoTensor;
    }
  }
  if (alike.size() == 1) return alike.front();
  std::ranges::copy_if(alike, std::back_inserter(own), [&](TensorId id) { return !is_beside(draft, call, id); });
  return own.size() == 1 ? own.front() : kNoTensor;
}

}  // namespace

bool is_view(const Operator& op) {
  static constexpr std::array<std::string_view, 13> kViews{"select", "slice",   "unsqueeze", "squeeze", "expand", "view",  "transpose",
                                                           "t",      "permute", "detach",    "alias",   "narrow", "unbind"};
  return op.name.starts_with("aten::") && std::ranges::find(kViews, std::string_view(op.name).substr(6)) != kViews.end();
}

const std::vector<Whole>* shape_of(const Draft& draft, TensorId id, std::size_t before) {
  if (const Tensor* listed = draft.listed(id)) return &listed->shape;
  while (before-- > 0) {
    const Operator& op = draft.program.operators[before];
    const auto found = std::ranges::find(op.out, id);
    if (found == op.out.end()) continue;
    return op.shapes.size() == op.out.size() ? &op.shapes[static_cast<std::size_t>(found - op.out.begin())] : nullptr;
  }
  return nullptr;
}

std::vector<Call> calls_of(const Program& program, const std::string& path) {
  std::vector<bool> within;
  for (const std::string& one : program.modules) within.push_back(is_within(one, path));
  const bool alone = std::ranges::count(within, true) == 1;
  std::vector<Call> found;
  bool open = false;
  std::int64_t number = -1;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const Operator& op = program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    const bool inside = computes(op) && op.module != kNoModule && within[op.module];
    if (inside && (!open || (alone && op.call != number))) found.push_back({.begin = at});
    if (inside) found.back().end = at + 1;
    open = inside;
    number = op.call;
  }
  return found;
}

Passing passing(const Draft& draft, const Call& call) {
  const std::set<TensorId> made = made_in(draft, call);
  Passing all;
  const auto add = [](TensorId id, std::vector<TensorId>& to) {
    if (std::ranges::find(to, id) == to.end()) to.push_back(id);
  };
  const auto& operators = draft.program.operators;
  for (std::size_t at = call.begin; at < call.end; ++at) {
    if (operators[at].kind == OperatorKind::free) continue;
    for_each_tensor(operators[at], [&](TensorId id) {
      const Tensor* listed = draft.listed(id);
      const bool given = listed == nullptr || listed->kind == TensorKind::input || listed->kind == TensorKind::other;
      if (given && !made.contains(id)) add(id, all.in);
    });
  }
  std::set<TensorId> used;
  for (std::size_t at = call.end; at < operators.size(); ++at) {
    if (operators[at].kind == OperatorKind::free) continue;
    for_each_tensor(operators[at], [&](TensorId id) { used.insert(id); });
  }
  for (std::size_t at = call.begin; at < call.end; ++at) {
    for (const TensorId id : operators[at].out) {
      if (made.contains(id) && used.contains(id)) add(id, all.out);
    }
  }
  return all;
}

std::expected<Through, std::string> through(const Draft& draft, const Call& call) {
  const auto [in, out] = passing(draft, call);
  bool in_place = false;
  for (std::size_t at = call.begin; at < call.end; ++at) {
    for (const TensorId id : draft.program.operators[at].out) in_place = in_place || std::ranges::find(in, id) != in.end();
  }
  if (in.empty()) return std::unexpected("takes no tensor");
  if (out.size() > 1) return std::unexpected("gives more than one tensor");
  if (out.empty() && !in_place) return std::unexpected("gives nothing that is used");
  const TensorId one = in.size() == 1 ? in.front() : out.empty() ? kNoTensor : stream(draft, call, in, out.front());
  if (one == kNoTensor) return std::unexpected("takes more than one tensor");
  return Through{.in = one, .out = out.empty() ? one : out.front()};
}

std::vector<Operator> copied(const Draft& from, Draft& draft, const Call& call, Ids& ids) {
  const std::set<TensorId> made = made_in(from, call);
  std::set<TensorId> used_later, released;
  for (std::size_t at = 0; at < from.program.operators.size(); ++at) {
    const Operator& op = from.program.operators[at];
    const bool frees = op.kind == OperatorKind::free;
    if (at >= call.end || frees) for_each_tensor(op, [&](TensorId id) { (frees ? released : used_later).insert(id); });
  }
  for (const TensorId id : made) {
    const TensorId copy = draft.fresh();
    const auto origin = draft.recorded.find(id);
    draft.recorded[copy] = origin == draft.recorded.end() ? id : origin->second;
    draft.made.insert(copy);
    const bool stays = !used_later.contains(id) && !released.contains(id) && !from.made.contains(id);
    if (stays || from.left.contains(id)) draft.left.insert(copy);
    ids[id] = copy;
  }
  std::vector<Operator> all;
  std::set<TensorId> gone;
  for (std::size_t at = call.begin; at < from.program.operators.size(); ++at) {
    const Operator& op = from.program.operators[at];
    const bool frees = op.kind == OperatorKind::free;
    if (at >= call.end && !frees) break;
    Operator copy = op;
    if (frees) {
      std::erase_if(copy.args, [&](const Value& value) { return !ids.contains(std::get<TensorRef>(value.is).id); });
      for_each_tensor(copy, [&](TensorId id) { gone.insert(id); });
    }
    rename(copy, ids);
    if (!frees || !copy.args.empty()) all.push_back(std::move(copy));
  }
  for (const TensorId id : made) {
    if (gone.contains(id) || used_later.contains(id)) continue;
    const auto with = from.goes_with.find(id);
    if (released.contains(id) || with != from.goes_with.end())
      draft.goes_with[ids.at(id)] = with == from.goes_with.end() ? id : with->second;
  }
  return all;
}

}  // namespace hotlens::lab
