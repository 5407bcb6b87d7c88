// What a kernel's (or an operator's) name tells: its family, and for people a short label, the type it works on and its tile.
//
// Names come from cuBLAS, cuDNN, CUTLASS, Tensile, MIOpen, composable kernel, PyTorch's own templates, Triton, NCCL and whoever wrote a
// kernel; no vendor documents them, so the rules are words that were seen in real traces. What matches none is `other`, never a guess.
// Names are hostile: the work on one is bounded, however long it is (its first 16 KiB are read).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotlens::kernels {

enum class Family : std::uint8_t {
  gemm,
  convolution,
  attention,
  normalization,
  softmax,
  reduction,
  elementwise,
  pooling,
  embedding,  // gather, scatter, index
  sort,       // sort, scan, select, histogram
  random,
  optimizer,  // fused or multi-tensor updates
  copy,       // copies, layout changes, concatenation
  fill,
  communication,
  view,  // an operator that makes a tensor without touching elements
  other,
};
constexpr std::size_t kFamilies = 17;
std::string_view name(Family family);

struct KernelName {
  Family family = Family::other;
  std::string label;  // "gemm bf16 128x128x64", "add f32", "all_reduce"
  std::string type;   // "f32", "bf16", "f16", "tf32", "i64" …; empty where the name does not tell
  std::string tile;   // "128x128x64"; empty where the name does not tell
};

KernelName kernel_name(std::string_view name);

// The same of a PyTorch operator ("aten::addmm"), for runs without device work; the label is its name.
KernelName operator_name(std::string_view name);

}  // namespace hotlens::kernels
