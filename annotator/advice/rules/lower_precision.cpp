#include "annotator/advice/rules/marks.h"

#include <algorithm>

namespace hotlens::rules {
namespace {

constexpr double kSpeedUp = 0.5;  // of the time of a product whose operands have half the bytes: what memory alone gives

bool multiplies(const kernels::KernelName& kernel) {
  return kernel.family == kernels::Family::gemm || kernel.family == kernels::Family::convolution ||
         kernel.family == kernels::Family::attention;
}

// Tensor cores that take 32-bit operands as TF32 came with compute capability 8.
bool has_tf32(const Recording& recording) {
  if (recording.trace.hip || recording.trace.devices.empty()) return false;
  return std::ranges::all_of(recording.trace.devices, [](const trace::Device& device) { return device.compute_capability >= 8; });
}

std::optional<Found> products(const Recording& recording, std::string_view evidence, std::vector<std::string> assumes,
                              const std::function<bool(const kernels::KernelName&)>& is) {
  const auto concerned = [&recording, is](const attribution::Work& work) {
    const kernels::KernelName& kernel = recording.kernel(work);
    return multiplies(kernel) && is(kernel);
  };
  const Sum spent = sum(recording, concerned);
  if (spent.works == 0) return std::nullopt;
  return Found{
      .evidence = {{counted(spent.works, "kernel", "kernels") + std::string(evidence), spent.device, ""}},
      .assumes = std::move(assumes),
      .node = attribution::kNoNode,
      .change = {
          .work = [concerned](const attribution::Work& work) { return concerned(work) ? kSpeedUp : 1.0; }, .host = {}, .unwaited = {}}};
}

}  // namespace

// Certain: products of 32-bit numbers. How much 16-bit ones gain, and whether the model trains with them, only a run tells.
std::optional<Found> lower_precision(const Recording& recording) {
  return products(recording, " of products, convolutions or attention on 32-bit numbers",
                  {"under torch.autocast they take half their time; the model trains as well with it"},
                  [](const kernels::KernelName& kernel) { return kernel.type == "f32" || kernel.type == "tf32"; });
}

// Certain: 32-bit products on a device that has TF32, by kernels that do not use it.
std::optional<Found> tf32(const Recording& recording) {
  if (!has_tf32(recording)) return std::nullopt;
  return products(recording, " of products or convolutions on 32-bit numbers without tensor cores",
                  {"torch.set_float32_matmul_precision(\"high\"): they take half their time, with 10 bits of precision instead of 23"},
                  [](const kernels::KernelName& kernel) { return kernel.type == "f32"; });
}

}  // namespace hotlens::rules
