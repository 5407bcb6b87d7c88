#include "annotator/kernels/kernel_name.h"

#include <algorithm>
#include <array>
#include <utility>

#include "annotator/common/character.h"
#include "annotator/kernels/demangle.h"
#include "annotator/kernels/family.h"

namespace hotlens::kernels {
namespace {

constexpr std::size_t kLongestName = 16384;  // longer names are cut here before they are read
constexpr std::size_t kLongestLabel = 48;

constexpr std::array kTypes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"bfloat16", "bf16"}, {"bf16", "bf16"},  {"tf32", "tf32"},   {"half", "f16"},   {"fp16", "f16"},    {"_f16", "f16"},   {"hgemm", "f16"},
    {"sgemm", "f32"},     {"dgemm", "f64"},  {"cgemm", "c64"},   {"scudnn", "f32"}, {"hcudnn", "f16"},  {"_bbs_", "bf16"}, {"_hhs_", "f16"},
    {"_sb_", "f32"},      {"s1688", "tf32"}, {"float8", "f8"},   {"e4m3", "f8"},    {"e5m2", "f8"},     {"_fp8", "f8"},    {"float", "f32"},
    {"f32", "f32"},       {"double", "f64"}, {"complex", "c64"}, {"int8", "i8"},    {"float16", "f16"}, {"long", "i64"},   {"bool", "bool"},
});

bool is_word(char c) {
  return is_lower(c) || is_digit(c) || c == '_' || (c >= 'A' && c <= 'Z');
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// "void at::native::reduce_kernel<512, …>(…)" gives "reduce_kernel".
std::string_view own_identifier(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::size_t end = 0;
  while (end < name.size() && name[end] != '<' && name[end] != ' ') {
    if (name.substr(end).starts_with(kAnonymous)) {
      name.remove_prefix(end + kAnonymous.size());
      end = 0;
    } else if (name[end] == '(') {
      break;
    } else {
      ++end;
    }
  }
  name = name.substr(0, end);
  const std::size_t scope = name.rfind("::");
  return scope == std::string_view::npos ? name : name.substr(scope + 2);
}

// Wrappers and plumbing of PyTorch's kernels that do not say what is computed.
bool is_plumbing(std::string_view word) {
  constexpr std::array<std::string_view, 30> kPlumbing = {"binaryfunctor",
                                                          "unaryfunctor",
                                                          "aunaryfunctor",
                                                          "bunaryfunctor",
                                                          "func_wrapper_t",
                                                          "tensoriterator",
                                                          "tensoriteratorbase",
                                                          "gpu_kernel_impl",
                                                          "gpu_kernel_impl_nocast",
                                                          "reduceop",
                                                          "binary_internal",
                                                          "array",
                                                          "void",
                                                          "anonymous",
                                                          "namespace",
                                                          "native",
                                                          "detail",
                                                          "at",
                                                          "c10",
                                                          "std",
                                                          "lambda",
                                                          "operator",
                                                          "opmath_gpu_kernel_with_scalars",
                                                          "opmath_symmetric_gpu_kernel_with_scalars",
                                                          "memory",
                                                          "char",
                                                          "const",
                                                          "unsigned",
                                                          "int",
                                                          "internal"};
  return std::ranges::find(kPlumbing, word) != kPlumbing.end();
}

// "CUDAFunctor_add" → "add", "sigmoid_kernel_cuda" → "sigmoid"; empty where the word is no functor.
std::string_view functor_of(std::string_view word) {
  if (is_plumbing(word)) return {};
  for (const std::string_view prefix : {"cudafunctoronself_", "cudafunctoronother_", "cudafunctor_", "launch_"}) {
    if (word.starts_with(prefix) && word.size() > prefix.size()) return word.substr(prefix.size());
  }
  constexpr std::array<std::string_view, 14> kSuffixes = {
      "_scalar_kernel_impl", "_kernel_impl",  "_kernel_cuda", "_kernel_cuda_impl", "_cuda_kernel", "cudakernelimpl", "_backward_cuda",
      "kernelimpl",          "scalarfunctor", "_functor",     "functor",           "ops",          "_cuda",          "_kernel"};
  for (const std::string_view suffix : kSuffixes) {
    if (word.ends_with(suffix) && word.size() > suffix.size()) return word.substr(0, word.size() - suffix.size());
  }
  return {};
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" → "all_reduce".
std::string_view collective(std::string_view lowered) {
  using Spelling = std::pair<std::string_view, std::string_view>;
  constexpr std::array kCollectives = std::to_array<Spelling>({{"allreduce", "all_reduce"},
                                                               {"all_reduce", "all_reduce"},
                                                               {"cross_device_reduce", "all_reduce"},
                                                               {"reducescatter", "reduce_scatter"},
                                                               {"reduce_scatter", "reduce_scatter"},
                                                               {"allgather", "all_gather"},
                                                               {"all_gather", "all_gather"},
                                                               {"alltoall", "all_to_all"},
                                                               {"sendrecv", "send_recv"},
                                                               {"broadcast", "broadcast"},
                                                               {"reduce", "reduce"}});
  const auto at = std::ranges::find_if(kCollectives, [&](const Spelling& each) { return lowered.contains(each.first); });
  return at == kCollectives.end() ? std::string_view() : at->second;
}

// What a kernel of PyTorch computes: the first identifier after the kernel's own that looks like a functor.
std::string_view operation(std::string_view lowered, std::string_view own) {
  std::size_t at = lowered.find(own);
  at = at == std::string_view::npos ? 0 : at + own.size();
  while (at < lowered.size()) {
    if (!is_word(lowered[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < lowered.size() && is_word(lowered[end])) ++end;
    if (const std::string_view found = functor_of(lowered.substr(at, end - at)); !found.empty()) return found;
    at = end;
  }
  return {};
}

// Whole words only where a type is spelled like one ("float"); vendors glue theirs to other words ("bf16bf16").
std::string_view type_of(std::string_view lowered) {
  std::size_t best = std::string_view::npos;
  std::string_view type;
  for (const auto& [word, meaning] : kTypes) {
    const bool spelled = word == "float" || word == "double" || word == "long" || word == "half" || word == "bool" || word == "complex";
    for (std::size_t at = lowered.find(word); at != std::string_view::npos && at < best; at = lowered.find(word, at + 1)) {
      const bool glued = (at > 0 && is_word(lowered[at - 1])) || (at + word.size() < lowered.size() && is_word(lowered[at + word.size()]));
      if (spelled && glued) continue;
      best = at;
      type = meaning;
      break;
    }
  }
  return type;
}

// The first run of two or three numbers joined by x, each at least 8: smaller ones are stages, warps and clusters.
std::string_view tile_of(std::string_view lowered) {
  for (std::size_t at = 0; at < lowered.size(); ++at) {
    if (!is_digit(lowered[at])) continue;
    std::size_t end = at;
    int numbers = 0;
    while (numbers < 3) {
      std::size_t digit = end;
      while (digit < lowered.size() && is_digit(lowered[digit])) ++digit;
      const bool large = digit - end >= 2 || (digit - end == 1 && lowered[end] >= '8');
      if (!large || digit - end > 4) break;
      ++numbers;
      end = digit;
      if (numbers < 3 && end + 1 < lowered.size() && lowered[end] == 'x' && is_digit(lowered[end + 1])) {
        ++end;
      } else {
        break;
      }
    }
    if (end > at && lowered[end - 1] == 'x') --end;
    if (numbers >= 2) return lowered.substr(at, end - at);
    while (at + 1 < lowered.size() && is_digit(lowered[at + 1])) ++at;
  }
  return {};
}

// "triton_poi_fused_add_relu_3" → "add_relu"; its kind where the name has no more.
std::string_view triton_fusion(std::string_view lowered) {
  const std::size_t fused = lowered.find("fused_");
  std::string_view rest = fused == std::string_view::npos ? lowered.substr(std::string_view("triton_").size()) : lowered.substr(fused + 6);
  while (!rest.empty() && (is_digit(rest.back()) || rest.back() == '_')) rest.remove_suffix(1);
  while (!rest.empty() && rest.front() == '_') rest.remove_prefix(1);
  // Early versions name the kinds of arguments only: "triton__0d1d2d".
  return fused == std::string_view::npos && !rest.empty() && is_digit(rest.front()) ? "triton" : rest;
}

std::string label_of(const KernelName& parts, std::string_view lowered, std::string_view own) {
  std::string label(name(parts.family));
  std::string_view what;
  if (lowered.starts_with("triton_")) {
    what = triton_fusion(lowered);
  } else if (parts.family == Family::elementwise || parts.family == Family::reduction || parts.family == Family::optimizer) {
    what = operation(lowered, own);
  } else if (parts.family == Family::communication) {
    what = collective(lowered);
  } else if (parts.family == Family::other) {
    what = own;
  }
  if (!what.empty()) label = std::string(what.substr(0, kLongestLabel));
  if (!parts.type.empty()) label += " " + parts.type;
  if (!parts.tile.empty()) label += " " + parts.tile;
  return label;
}

}  // namespace

KernelName kernel_name(std::string_view name) {
  const std::string readable = demangled(name.substr(0, std::min(name.size(), kLongestName)));
  const std::string text = lower(std::string_view(readable).substr(0, kLongestName));
  const std::string_view own = own_identifier(text);
  KernelName parts;
  parts.family = kernel_family(text, own);
  const bool tiled = parts.family == Family::gemm || parts.family == Family::convolution || parts.family == Family::attention;
  // The arguments of a collective are addresses and counts, whatever it sends.
  parts.type = type_of(parts.family == Family::communication ? std::string_view(text).substr(0, text.find('(')) : std::string_view(text));
  if (tiled) parts.tile = tile_of(text);
  parts.label = label_of(parts, text, own);
  return parts;
}

KernelName operator_name(std::string_view name) {
  const std::string_view shown = name.substr(0, std::min(name.size(), kLongestLabel));
  return {.family = operator_family(lower(name.substr(0, std::min(name.size(), kLongestName)))),
          .label = std::string(shown),
          .type = {},
          .tile = {}};
}

}  // namespace hotlens::kernels
