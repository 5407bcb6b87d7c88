#include "annotator/lab/whatif/relu.h"

#include <algorithm>
#include <array>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

// Their results are fresh memory, which their backward passes do not read.
bool leaves_its_result(const Operator& op) {
  constexpr auto kNames = std::to_array<std::string_view>({"conv1d",
                                                           "conv2d",
                                                           "conv3d",
                                                           "convolution",
                                                           "conv_transpose1d",
                                                           "conv_transpose2d",
                                                           "conv_transpose3d",
                                                           "linear",
                                                           "addmm",
                                                           "mm",
                                                           "bmm",
                                                           "baddbmm",
                                                           "batch_norm",
                                                           "layer_norm",
                                                           "group_norm",
                                                           "add",
                                                           "sub",
                                                           "mul",
                                                           "cat",
                                                           "stack",
                                                           "avg_pool2d",
                                                           "adaptive_avg_pool2d",
                                                           "upsample_nearest2d",
                                                           "upsample_bilinear2d"});
  return op.kind == OperatorKind::library && op.out.size() == 1 && std::ranges::find(kNames, base_name(op)) != kNames.end();
}

}  // namespace

bool is_relu(const Operator& op) {
  return op.kind == OperatorKind::library && (op.name == "aten::relu" || op.name == "aten::relu_");
}

bool may_write_in_place(const Program& program, const Dataflow& flow, std::size_t at) {
  const TensorId id = tensor_of(argument(program.operators[at], 0, "self"));
  if (id < static_cast<TensorId>(program.tensors.size()) || flow.maker(id, at) == kNowhere) return false;
  const std::vector<std::size_t>& makers = flow.makers(id);
  const auto is_own = [&](std::size_t one) { return one == at || std::ranges::find(makers, one) != makers.end(); };
  return !program.operators[makers.front()].name.ends_with('_') && std::ranges::all_of(makers, [&](std::size_t maker) {
    return maker < at && leaves_its_result(program.operators[maker]) && std::ranges::all_of(flow.readers(id, maker), is_own);
  });
}

}  // namespace hotlens::lab
