#include "annotator/advice/devices/roof.h"

#include <algorithm>

namespace hotlens::devices {
namespace {

std::optional<double> measured(const Row& row, std::string_view what, std::string_view type) {
  const auto found = row.flops_per_s.find({std::string(what), std::string(type)});
  return found == row.flops_per_s.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<double> peak(const Row& row, kernels::Work work, std::string_view type) {
  if (work == kernels::Work::move) return std::nullopt;
  const auto product = measured(row, "gemm", type);
  const auto convolution = work == kernels::Work::convolution ? measured(row, "convolution", type) : std::nullopt;
  if (!product || !convolution) return product ? product : convolution;
  return std::max(*product, *convolution);
}

std::optional<double> least_seconds(const Row& row, const kernels::Cost& cost) {
  auto rate = peak(row, cost.work, cost.type);
  if (!rate) rate = peak(row, cost.work, "f32");
  const double arithmetic = rate ? cost.flops / *rate : 0;
  const double moving = cost.bytes && row.copy_bytes_per_s > 0 ? *cost.bytes / row.copy_bytes_per_s : 0;
  const double least = std::max(arithmetic, moving);
  return least > 0 ? std::optional(least) : std::nullopt;
}

}  // namespace hotlens::devices
