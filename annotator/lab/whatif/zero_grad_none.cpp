// `zero_grad(set_to_none=True)`: gradients are let go, and the backward pass hands over its own instead of adding to them.
#include <algorithm>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

// Gradients that the operator fills with zeros, by their parameters.
std::vector<TensorId> zeroed(const Operator& op) {
  std::vector<TensorId> found;
  if (op.stage != Stage::zero_grad || (op.name != "aten::zero_" && op.name != "aten::_foreach_zero_") || op.args.empty()) return found;
  const auto add = [&](const Value& value) {
    if (const auto* gradient = std::get_if<GradientRef>(&value.is)) found.push_back(gradient->of);
  };
  add(op.args[0]);
  if (const auto* list = std::get_if<Values>(&op.args[0].is)) std::ranges::for_each(*list, add);
  return found;
}

Operator clear(const std::vector<TensorId>& parameters) {
  Operator op{.kind = OperatorKind::clear_gradient,
              .name = "hotlens::clear_gradient",
              .overload = {},
              .args = {},
              .kwargs = {},
              .out = {},
              .stage = Stage::zero_grad};
  for (const TensorId id : parameters) op.args.emplace_back().is = TensorRef{id};
  return op;
}

}  // namespace

Edited zero_grad_none(Program program) {
  std::size_t gradients = 0;
  bool backward = false;
  std::vector<TensorId> carried;  // zeros that the step before left: with None the step begins without
  for (Operator& op : program.operators) {
    backward = backward || op.kind == OperatorKind::backward;
    const std::vector<TensorId> parameters = zeroed(op);
    if (parameters.empty()) continue;
    op = clear(parameters);
    gradients += parameters.size();
    if (backward) carried.insert(carried.end(), parameters.begin(), parameters.end());
  }
  if (gradients == 0) return std::unexpected(NotHere{.reason = "no gradient is filled with zeros after the model is first called"});
  if (!carried.empty()) program.operators.insert(program.operators.begin(), clear(carried));
  return Edit{
      .program = std::move(program), .evidence = counted(gradients, "gradient is", "gradients are") + " filled with zeros", .modules = {}};
}

}  // namespace hotlens::lab
