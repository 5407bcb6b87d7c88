// `module.eval()` for batch norms: the running statistics are used and stay as they are.
#include <algorithm>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kRunningMean = 3, kTraining = 5;  // arguments of aten::batch_norm

bool counts_batches(const Program& program, const Operator& op) {
  const TensorId id = op.name == "aten::add_" ? tensor_of(argument(op, 0, "self")) : kNoTensor;
  return id >= 0 && static_cast<std::size_t>(id) < program.tensors.size() &&
         program.tensors[static_cast<std::size_t>(id)].name.ends_with("num_batches_tracked");
}

}  // namespace

Edited batch_norm_eval(Program program) {
  std::vector<std::size_t> changed;  // modules
  std::vector<std::string> paths;
  for (Operator& op : program.operators) {
    if (op.name != "aten::batch_norm" || tensor_of(argument(op, kRunningMean, "running_mean")) == kNoTensor) continue;
    Value* training = argument(op, kTraining, "training");
    if (!is_true(training)) continue;
    *training = {false};
    changed.push_back(op.module);
    add_module(paths, program, op);
  }
  if (changed.empty()) return std::unexpected(NotHere{.reason = "no batch norm gathers statistics in the recorded step"});
  std::erase_if(program.operators,
                [&](const Operator& op) { return counts_batches(program, op) && std::ranges::find(changed, op.module) != changed.end(); });
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(changed.size(), "batch norm gathers", "batch norms gather") + " statistics",
              .modules = std::move(paths)};
}

}  // namespace hotlens::lab
