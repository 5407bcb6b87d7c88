#include "annotator/kernels/family.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

namespace hotlens::kernels {
namespace {

struct NameRule {
  std::string_view word;  // lower case
  Family family;
};

// Tried in order, first on the kernel's own identifier, then on all of its name (arguments and template parameters tell what a general
// wrapper runs). A word stands before every other word that names may contain beside it: "implicit_gemm" is a convolution, so convolutions
// stand before products; the copies of a layout change mention the convolution that wanted it, so they stand before that.
constexpr std::array kRules = std::to_array<NameRule>({
    {"nccl", Family::communication},
    {"rccl", Family::communication},
    {"allreduce", Family::communication},
    {"all_reduce", Family::communication},
    {"allgather", Family::communication},
    {"all_gather", Family::communication},
    {"reduce_scatter", Family::communication},
    {"reducescatter", Family::communication},
    {"alltoall", Family::communication},
    {"all_to_all", Family::communication},
    {"cross_device_reduce", Family::communication},
    {"nvshmem", Family::communication},
    {"reshape_and_cache", Family::copy},
    {"rotary", Family::elementwise},
    {"moe_align", Family::sort},
    {"memcpy", Family::copy},
    {"memset", Family::fill},
    {"routing", Family::sort},
    {"fillbuffer", Family::fill},
    {"copybuffer", Family::copy},
    {"flash", Family::attention},
    {"fmha", Family::attention},
    {"attention", Family::attention},
    {"attn", Family::attention},
    {"pagedkvcache", Family::attention},
    {"nchwtonhwc", Family::copy},
    {"nhwctonchw", Family::copy},
    {"transposereadwrite", Family::copy},
    {"batched_transpose", Family::copy},
    {"split_embedding", Family::embedding},
    {"multi_tensor_apply", Family::optimizer},
    {"adam", Family::optimizer},
    {"adagrad", Family::optimizer},
    {"lambfunctor", Family::optimizer},
    {"rmsprop", Family::optimizer},
    {"sgd", Family::optimizer},
    {"batch_norm", Family::normalization},
    {"batchnorm", Family::normalization},
    {"layer_norm", Family::normalization},
    {"layernorm", Family::normalization},
    {"group_norm", Family::normalization},
    {"groupnorm", Family::normalization},
    {"instance_norm", Family::normalization},
    {"rms_norm", Family::normalization},
    {"rmsnorm", Family::normalization},
    {"bn_fw", Family::normalization},
    {"bn_bw", Family::normalization},
    {"gammabeta", Family::normalization},
    {"rowwisemoments", Family::normalization},
    {"fusedparams", Family::normalization},
    {"computeinternalgradients", Family::normalization},
    {"softmax", Family::softmax},
    {"im2col", Family::convolution},
    {"col2im", Family::convolution},
    {"vol2col", Family::convolution},
    {"conv", Family::convolution},
    {"winograd", Family::convolution},
    {"implicit_gemm", Family::convolution},
    {"implicitgemm", Family::convolution},
    {"igemm_", Family::convolution},
    {"wgrad", Family::convolution},
    {"dgrad", Family::convolution},
    {"fprop", Family::convolution},
    {"scudnn", Family::convolution},
    {"hcudnn", Family::convolution},
    {"fft2d", Family::convolution},
    {"offsetskernel", Family::convolution},
    {"miopen", Family::convolution},
    {"gemm", Family::gemm},
    {"bmm_", Family::gemm},
    {"fused_moe", Family::gemm},
    {"grouped_mm", Family::gemm},
    {"gemv", Family::gemm},
    {"gemvx", Family::gemm},
    {"cijk_", Family::gemm},
    {"nvjet", Family::gemm},
    {"cublas", Family::gemm},
    {"splitkreduce", Family::gemm},
    {"dot_kernel", Family::gemm},
    {"matmul", Family::gemm},
    {"pooled_embs", Family::embedding},
    {"pool", Family::pooling},
    {"upsample", Family::pooling},
    {"interpolate", Family::pooling},
    {"grid_sampl", Family::pooling},
    {"catarray", Family::copy},
    {"concat", Family::copy},
    {"direct_copy", Family::copy},
    {"copy", Family::copy},
    {"transpose", Family::copy},
    {"fillfunctor", Family::fill},
    {"embedding", Family::embedding},
    {"bucketize", Family::embedding},
    {"scatter", Family::embedding},
    {"gather", Family::embedding},
    {"index", Family::embedding},
    {"indices", Family::embedding},
    {"masked_select", Family::embedding},
    {"permute", Family::copy},
    {"segment", Family::embedding},
    {"radixsort", Family::sort},
    {"mergesort", Family::sort},
    {"bitonic", Family::sort},
    {"sort", Family::sort},
    {"topk", Family::sort},
    {"histogram", Family::sort},
    {"unique", Family::sort},
    {"devicescan", Family::sort},
    {"scan", Family::sort},
    {"select", Family::sort},
    {"cumsum", Family::sort},
    {"distribution", Family::random},
    {"philox", Family::random},
    {"dropout", Family::random},
    {"bernoulli", Family::random},
    {"random", Family::random},
    {"curand", Family::random},
    {"devicereduce", Family::reduction},
    {"reduce", Family::reduction},
    {"nll_loss", Family::reduction},
    {"classnll", Family::reduction},
    {"elementwise", Family::elementwise},
    {"pointwise", Family::elementwise},
    {"activation", Family::elementwise},
    {"silu", Family::elementwise},
    {"gelu", Family::elementwise},
    {"relu", Family::elementwise},
    {"sigmoid", Family::elementwise},
    {"optensor", Family::elementwise},
    {"tensorop", Family::elementwise},
    {"scaletensor", Family::elementwise},
    {"scalepackedtensor", Family::elementwise},
    {"add_bias", Family::elementwise},
    {"addtensor", Family::elementwise},
    {"and_mul", Family::elementwise},
    {"quant", Family::elementwise},
    {"triu_tril", Family::elementwise},
    {"_fill", Family::fill},
    {"sampling", Family::sort},
    {"finalizekernel", Family::reduction},
});

constexpr std::array kOperators = std::to_array<NameRule>({
    {"c10d::", Family::communication},
    {"gloo:", Family::communication},
    {"nccl:", Family::communication},
    {"attention", Family::attention},
    {"_flash", Family::attention},
    {"batch_norm", Family::normalization},
    {"layer_norm", Family::normalization},
    {"group_norm", Family::normalization},
    {"rms_norm", Family::normalization},
    {"softmax", Family::softmax},
    {"conv", Family::convolution},
    {"::mm", Family::gemm},
    {"::bmm", Family::gemm},
    {"::addmm", Family::gemm},
    {"::addbmm", Family::gemm},
    {"::baddbmm", Family::gemm},
    {"::addmv", Family::gemm},
    {"::mv", Family::gemm},
    {"::dot", Family::gemm},
    {"_linear", Family::gemm},
    {"quantized::linear", Family::gemm},
    {"matmul", Family::gemm},
    {"_int_mm", Family::gemm},
    {"_mm", Family::gemm},
    {"lstm", Family::gemm},
    {"rnn", Family::gemm},
    {"gru", Family::gemm},
    {"_fused_adam", Family::optimizer},
    {"_fused_sgd", Family::optimizer},
    {"_fused_adagrad", Family::optimizer},
    {"_foreach_", Family::elementwise},
    {"pool", Family::pooling},
    {"upsample", Family::pooling},
    {"grid_sampler", Family::pooling},
    {"embedding", Family::embedding},
    {"gather", Family::embedding},
    {"scatter", Family::embedding},
    {"index", Family::embedding},
    {"masked_select", Family::embedding},
    {"nonzero", Family::embedding},
    {"sort", Family::sort},
    {"topk", Family::sort},
    {"cumsum", Family::sort},
    {"unique", Family::sort},
    {"searchsorted", Family::sort},
    {"dropout", Family::random},
    {"bernoulli", Family::random},
    {"rand", Family::random},
    {"uniform_", Family::random},
    {"normal_", Family::random},
    {"copy_", Family::copy},
    {"::cat", Family::copy},
    {"::stack", Family::copy},
    {"clone", Family::copy},
    {"contiguous", Family::copy},
    {"repeat", Family::copy},
    {"fill_", Family::fill},
    {"zero_", Family::fill},
    {"::sum", Family::reduction},
    {"::mean", Family::reduction},
    {"::amax", Family::reduction},
    {"::amin", Family::reduction},
    {"::argmax", Family::reduction},
    {"::max", Family::reduction},
    {"::min", Family::reduction},
    {"::var", Family::reduction},
    {"::std", Family::reduction},
    {"norm", Family::reduction},
    {"_loss", Family::reduction},
});

// Operators that make a tensor without touching elements: what they cost is overhead.
constexpr auto kViews = std::to_array<std::string_view>(
    {"resolve_conj", "resolve_neg",  "conj",          "view_as_real", "view",           "as_strided", "t",          "transpose",
     "permute",      "expand",       "expand_as",     "reshape",      "_reshape_alias", "unsqueeze",  "squeeze",    "slice",
     "select",       "split",        "chunk",         "unbind",       "narrow",         "detach",     "detach_",    "empty",
     "alias",        "as_strided_",  "squeeze_",      "unsqueeze_",   "transpose_",     "t_",         "set_",       "empty_permuted",
     "flatten",      "empty_like",   "empty_strided", "unflatten",    "resize_",        "view_as",    "lift_fresh", "diagonal",
     "movedim",      "_unsafe_view", "unfold",        "broadcast_to"});

std::optional<Family> first_match(std::string_view text, std::span<const NameRule> rules) {
  const auto at = std::ranges::find_if(rules, [&](const NameRule& rule) { return text.contains(rule.word); });
  return at == rules.end() ? std::nullopt : std::optional(at->family);
}

// Inductor says what a fused kernel is: pointwise, reduction (persistent or not), template.
Family triton_family(std::string_view name) {
  if (name.starts_with("triton_poi_")) return Family::elementwise;
  if (const auto family = first_match(name, kRules)) return *family;
  if (name.starts_with("triton_red_") || name.starts_with("triton_per_")) return Family::reduction;
  return name.starts_with("triton_tem_") ? Family::gemm : Family::other;
}

// Inductor's loops for a CPU, which products and convolutions are not among although their names may tell whose results they take.
Family inductor_family(std::string_view name) {
  if (name.contains("norm")) return Family::normalization;
  return name.contains("softmax") ? Family::softmax : Family::elementwise;
}

// PyTorch's general loop over elements: what it is given to do decides.
Family elementwise_family(std::string_view name) {
  if (name.contains("direct_copy")) return Family::copy;
  if (name.contains("fillfunctor")) return Family::fill;
  if (name.contains("batch_norm")) return Family::normalization;
  return Family::elementwise;
}

// A library that is called after what most of its kernels do: of the others that would say the wrong thing.
std::string without_library(std::string_view name) {
  constexpr std::string_view kLibrary = "flashinfer";
  std::string rest(name);
  for (std::size_t at = rest.find(kLibrary); at != std::string::npos; at = rest.find(kLibrary, at)) rest.erase(at, kLibrary.size());
  return rest;
}

// Nodes of the backward graph: the operators that they run do the work.
bool is_autograd(std::string_view name) {
  if (name.starts_with("autograd::") || name.starts_with("torch::autograd::")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("backward") && !name.starts_with("aten::");
}

}  // namespace

std::string_view name(Family family) {
  constexpr std::array<std::string_view, kFamilies> kNames = {
      "gemm", "convolution", "attention", "normalization", "softmax", "reduction",     "elementwise", "pooling", "embedding",
      "sort", "random",      "optimizer", "copy",          "fill",    "communication", "view",        "other"};
  return kNames[static_cast<std::size_t>(family)];
}

Family kernel_family(std::string_view name, std::string_view own) {
  if (name.starts_with("triton_")) return triton_family(name);
  const bool general = own.contains("elementwise") && !own.contains("index") && !own.contains("scatter") && !own.contains("distribution");
  if (general) return elementwise_family(name);
  if (const auto family = first_match(without_library(own), kRules)) return *family;
  return first_match(without_library(name), kRules).value_or(Family::other);
}

Family operator_family(std::string_view name) {
  if (name.starts_with("cpp_fused_")) return inductor_family(name);
  const std::size_t scope = name.rfind("::");
  const std::string_view own = scope == std::string_view::npos ? name : name.substr(scope + 2);
  if (std::ranges::find(kViews, own) != kViews.end() || is_autograd(name)) return Family::view;
  if (const auto family = first_match(name, kOperators)) return *family;
  return name.starts_with("aten::") ? Family::elementwise : Family::other;
}

}  // namespace hotlens::kernels
