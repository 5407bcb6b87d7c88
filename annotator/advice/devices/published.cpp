#include "annotator/advice/devices/published.h"

#include <algorithm>
#include <array>

namespace hotlens::devices {
namespace {

struct Published {
  std::string_view name, kind;
  double f32, f16, bf16;  // TFLOP/s; 0: the device has no such arithmetic
  double memory;          // GB/s
};

// From the data sheets of the V100, A100, H100, H200 (NVIDIA) and MI300X (AMD).
constexpr auto kTable = std::to_array<Published>({
    {"Tesla V100-SXM2-16GB", "cuda", 15.7, 125, 0, 900},
    {"Tesla V100-SXM2-32GB", "cuda", 15.7, 125, 0, 900},
    {"Tesla V100-PCIE-16GB", "cuda", 14, 112, 0, 900},
    {"Tesla V100-PCIE-32GB", "cuda", 14, 112, 0, 900},
    {"NVIDIA A100-SXM4-40GB", "cuda", 19.5, 312, 312, 1555},
    {"NVIDIA A100-SXM4-80GB", "cuda", 19.5, 312, 312, 2039},
    {"NVIDIA A100-PCIE-40GB", "cuda", 19.5, 312, 312, 1555},
    {"NVIDIA A100 80GB PCIe", "cuda", 19.5, 312, 312, 1935},
    {"NVIDIA H100 80GB HBM3", "cuda", 66.9, 989.4, 989.4, 3350},
    {"NVIDIA H200", "cuda", 66.9, 989.4, 989.4, 4800},
    {"AMD Instinct MI300X", "hip", 163.4, 1307.4, 1307.4, 5300},
});

}  // namespace

std::optional<Row> published(std::string_view name) {
  const auto found = std::ranges::find(kTable, name, &Published::name);
  if (found == kTable.end()) return std::nullopt;
  Row row{.name = std::string(found->name), .kind = std::string(found->kind), .torch = {}, .measured = {}, .flops_per_s = {}};
  row.published = true;
  row.copy_bytes_per_s = found->memory * 1e9;
  const auto add = [&](const char* type, double rate) {
    if (rate > 0) row.flops_per_s[{"gemm", type}] = rate * 1e12;
  };
  add("f32", found->f32);
  add("f16", found->f16);
  add("bf16", found->bf16);
  return row;
}

}  // namespace hotlens::devices
