#include "annotator/lab/structure/carried.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hotlens::lab {
namespace {

using Shape = std::vector<std::int64_t>;

std::optional<Shape> fixed(const std::vector<Whole>& sizes) {
  Shape all;
  for (const Whole& one : sizes) {
    if (!one.is_fixed()) return std::nullopt;
    all.push_back(one.offset);
  }
  return all;
}

std::set<TensorId> released(const Program& program) {
  std::set<TensorId> all;
  for (const Operator& op : program.operators) {
    if (op.kind == OperatorKind::free) for_each_tensor(op, [&](TensorId id) { all.insert(id); });
  }
  return all;
}

// Made by operators and never let go, each once.
std::set<TensorId> left_behind(const Program& program, const std::set<TensorId>& released, const std::set<TensorId>& listed) {
  std::set<TensorId> all;
  for (const Operator& op : program.operators) {
    for (const TensorId id : op.out) {
      if (id != kNoTensor && !released.contains(id) && !listed.contains(id)) all.insert(id);
    }
  }
  return all;
}

std::map<TensorId, Shape> shapes_of(const Program& program) {
  std::map<TensorId, Shape> all;
  for (const Operator& op : program.operators) {
    for (std::size_t at = 0; at < op.out.size() && op.shapes.size() == op.out.size(); ++at) {
      if (const auto shape = fixed(op.shapes[at])) all[op.out[at]] = *shape;
    }
  }
  return all;
}

// A program's tensors of each shape that come from the step before, and that its step leaves behind.
struct Carried {
  std::vector<TensorId> before;
  std::set<TensorId> left;
};

std::map<Shape, Carried> carried(const Program& program) {
  std::map<Shape, Carried> all;
  const auto gone = released(program);
  std::set<TensorId> listed;
  std::map<std::int64_t, int> in_storage;
  for (const Tensor& tensor : program.tensors) ++in_storage[tensor.storage];
  for (std::size_t at = 0; at < program.tensors.size(); ++at) {
    const Tensor& tensor = program.tensors[at];
    const auto id = static_cast<TensorId>(at);
    listed.insert(id);
    const auto shape = fixed(tensor.shape);
    if (tensor.kind == TensorKind::other && gone.contains(id) && shape && in_storage[tensor.storage] == 1) all[*shape].before.push_back(id);
  }
  const auto shapes = shapes_of(program);
  for (const TensorId id : left_behind(program, gone, listed)) {
    if (const auto shape = shapes.find(id); shape != shapes.end()) all[shape->second].left.insert(id);
  }
  return all;
}

Operator* release_of(Program& program, TensorId id) {
  const auto found =
      std::ranges::find_if(program.operators, [&](const Operator& op) { return op.kind == OperatorKind::free && uses(op, id); });
  return found == program.operators.end() ? nullptr : &*found;
}

void add_like(Draft& draft, TensorId model) {
  const TensorId made = draft.add(draft.program.tensors[static_cast<std::size_t>(model)]);
  draft.recorded[made] = model;
  if (Operator* release = release_of(draft.program, model)) release->args.emplace_back().is = TensorRef{made};
}

void remove(Draft& draft, TensorId id) {
  draft.gone.insert(id);
  if (Operator* release = release_of(draft.program, id))
    std::erase_if(release->args, [&](const Value& value) { return std::get<TensorRef>(value.is).id == id; });
}

}  // namespace

void carry_over(Draft& draft, const Program& recorded) {
  std::set<TensorId> listed;
  for (std::size_t id = 0; id < draft.program.tensors.size(); ++id) listed.insert(static_cast<TensorId>(id));
  for (const auto& [id, tensor] : draft.added) listed.insert(id);
  std::map<TensorId, std::size_t> now;  // how many of each recorded tensor are left
  for (const TensorId id : left_behind(draft.program, released(draft.program), listed)) {
    const auto origin = draft.recorded.find(id);
    ++now[origin == draft.recorded.end() ? id : origin->second];
  }
  for (const auto& [shape, one] : carried(recorded)) {
    if (one.before.empty() || one.before.size() != one.left.size()) continue;
    std::size_t left = 0;
    for (const TensorId id : one.left) left += now.contains(id) ? now.at(id) : 0;
    for (std::size_t more = one.before.size(); more < left; ++more) add_like(draft, one.before.back());
    for (std::size_t fewer = left; fewer < one.before.size(); ++fewer) remove(draft, one.before[fewer]);
  }
  std::erase_if(draft.program.operators, [](const Operator& op) { return op.kind == OperatorKind::free && op.args.empty(); });
}

}  // namespace hotlens::lab
