// `with torch.autocast(device, torch.bfloat16):` around the model and the loss, up to the backward pass.
#include <algorithm>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr const char* kType = "bfloat16";

// From the first operator of the model to the last of the loss, before one backward pass.
struct Region {
  std::size_t begin = 0, end = 0;
};

std::vector<Region> regions(const Program& program) {
  std::vector<Region> found;
  std::optional<Region> open;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const Operator& op = program.operators[at];
    if (op.kind == OperatorKind::backward || op.kind == OperatorKind::grad) {
      if (open) found.push_back(*open);
      open.reset();
    }
    // The seed of the backward pass is made by backward() itself.
    if (op.kind != OperatorKind::library || op.name == "aten::ones_like") continue;
    if (op.stage == Stage::forward && !open) open = {.begin = at, .end = at + 1};
    if (open && (op.stage == Stage::forward || op.stage == Stage::loss)) open->end = at + 1;
  }
  return found;
}

}  // namespace

Edited autocast_bf16(Program program) {
  for (const Operator& op : program.operators) {
    const bool on = op.kind == OperatorKind::library && !op.autocast.empty();
    if (on) return std::unexpected(not_here_at(program, op, "autocast is on already, to " + op.autocast));
    if (op.kind == OperatorKind::function)
      return std::unexpected(not_here_at(program, op, "a custom autograd function computes, which may do so in another type"));
  }
  const bool single = std::ranges::any_of(
      program.tensors, [](const Tensor& tensor) { return tensor.kind == TensorKind::parameter && tensor.dtype == "float32"; });
  if (!single) return std::unexpected(NotHere{.reason = "no weight is float32"});
  const std::vector<Region> all = regions(program);
  if (all.empty()) return std::unexpected(NotHere{.reason = "no backward pass follows a model's forward"});
  release_after_last_use(program);
  std::size_t changed = 0;
  const std::vector<Region> where = regions(program);
  for (auto region = where.rbegin(); region != where.rend(); ++region) {
    for (std::size_t at = region->begin; at < region->end; ++at) {
      program.operators[at].autocast = kType;
      changed += program.operators[at].kind == OperatorKind::library ? 1 : 0;
    }
    Operator leave{.kind = OperatorKind::clear_autocast_cache,
                   .name = "hotlens::clear_autocast_cache",
                   .overload = {},
                   .args = {},
                   .kwargs = {},
                   .out = {}};
    program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(region->end), std::move(leave));
  }
  return Edit{
      .program = std::move(program),
      .evidence = counted(changed, "operator of forward and loss computes", "operators of forward and loss compute") + " in float32",
      .modules = {}};
}

}  // namespace hotlens::lab
