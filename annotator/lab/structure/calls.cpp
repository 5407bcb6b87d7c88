#include "annotator/lab/structure/calls.h"

#include <algorithm>
#include <set>

namespace hotlens::lab {
namespace {

bool is_within(const std::string& path, const std::string& holder) {
  return holder.empty() || path == holder || (path.starts_with(holder) && path[holder.size()] == '.');
}

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

}  // namespace

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

std::expected<Through, std::string> through(const Draft& draft, const Call& call) {
  const std::set<TensorId> made = made_in(draft, call);
  std::set<TensorId> in, out;
  bool in_place = false;
  for (std::size_t at = call.begin; at < call.end; ++at) {
    const Operator& op = draft.program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    for_each_tensor(op, [&](TensorId id) {
      const Tensor* listed = draft.listed(id);
      const bool given = listed == nullptr || listed->kind == TensorKind::input || listed->kind == TensorKind::other;
      if (given && !made.contains(id)) in.insert(id);
    });
  }
  for (std::size_t at = call.begin; at < call.end; ++at) {
    for (const TensorId id : draft.program.operators[at].out) in_place = in_place || in.contains(id);
  }
  for (std::size_t at = call.end; at < draft.program.operators.size(); ++at) {
    const Operator& op = draft.program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    for_each_tensor(op, [&](TensorId id) {
      if (made.contains(id)) out.insert(id);
    });
  }
  if (in.size() != 1) return std::unexpected(in.empty() ? "takes no tensor" : "takes more than one tensor");
  if (out.size() > 1) return std::unexpected("gives more than one tensor");
  if (out.empty() && !in_place) return std::unexpected("gives nothing that is used");
  return Through{.in = *in.begin(), .out = out.empty() ? *in.begin() : *out.begin()};
}

std::vector<Operator> copied(const Draft& from, Draft& draft, const Call& call, Ids ids, TensorId& out) {
  const std::set<TensorId> made = made_in(from, call);
  for (const TensorId id : made) {
    const TensorId copy = draft.fresh();
    const auto origin = draft.recorded.find(id);
    draft.recorded[copy] = origin == draft.recorded.end() ? id : origin->second;
    draft.made.insert(copy);
    ids[id] = copy;
  }
  std::vector<Operator> all;
  for (std::size_t at = call.begin; at < from.program.operators.size(); ++at) {
    const Operator& op = from.program.operators[at];
    const bool frees = op.kind == OperatorKind::free;
    if (at >= call.end && !frees) break;
    Operator copy = op;
    if (frees) std::erase_if(copy.args, [&](const Value& value) { return !ids.contains(std::get<TensorRef>(value.is).id); });
    rename(copy, ids);
    if (!frees || !copy.args.empty()) all.push_back(std::move(copy));
  }
  out = ids.contains(out) ? ids.at(out) : out;
  return all;
}

}  // namespace hotlens::lab
