#include "annotator/trace/category.h"
#include <algorithm>
#include <array>
#include <string>

#include "annotator/trace/exchange.h"

namespace hotlens::trace {
namespace {

struct NamedCategory {
  std::string_view text;
  Category category;
};

// Spellings through the versions: capitalised up to torch 1.11, other accelerators name their own runtimes.
constexpr std::array kCategories = std::to_array<NamedCategory>({
    {"cpu_op", Category::cpu_op},
    {"Operator", Category::cpu_op},
    {"CPU functions", Category::cpu_op},
    {"hpu_op", Category::cpu_op},
    {"mtia_ccp_events", Category::kernel},
    {"user_annotation", Category::annotation},
    {"gpu_user_annotation", Category::device_annotation},
    {"cuda_runtime", Category::runtime},
    {"Runtime", Category::runtime},
    {"hip_runtime", Category::runtime},
    {"xpu_runtime", Category::runtime},
    {"mtia_runtime", Category::runtime},
    {"glow_runtime", Category::runtime},
    {"privateuse1_runtime", Category::runtime},
    {"cuda_driver", Category::driver},
    {"xpu_driver", Category::driver},
    {"privateuse1_driver", Category::driver},
    {"kernel", Category::kernel},
    {"Kernel", Category::kernel},
    {"CUDA functions", Category::kernel},
    {"gpu_memcpy", Category::copy},
    {"Memcpy", Category::copy},
    {"gpu_memset", Category::fill},
    {"Memset", Category::fill},
    {"python_function", Category::python},
    {"cpu_instant_event", Category::memory},
    {"overhead", Category::overhead},
    {"cuda_sync", Category::sync},
    {"xpu_sync", Category::sync},
    // What is known and takes no device's time: marks, counters, the recording itself.
    {"Trace", Category::other},
    {"external_correlation", Category::other},
    {"cuda_event", Category::other},
    {"cuda_profiler_range", Category::other},
    {"xpu_scope_profiler", Category::other},
    {"mtia_insight", Category::other},
    {"mtia_counters", Category::other},
    {"hardware_counters", Category::other},
});

// Accelerators outside of Kineto's own list (npu, mlu, gcu) name their categories in its way.
constexpr std::array kEndings = std::to_array<NamedCategory>({
    {"_user_annotation", Category::device_annotation},
    {"_runtime", Category::runtime},
    {"_driver", Category::driver},
    {"_kernel", Category::kernel},
    {"_memcpy", Category::copy},
    {"_memset", Category::fill},
    {"_sync", Category::sync},
});

constexpr std::array<std::string_view, 4> kAnnotationPrefixes = {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#",
                                                                 "DistributedDataParallel."};

}  // namespace

bool on_device(Category category) {
  return category == Category::kernel || category == Category::copy || category == Category::fill;
}

std::optional<Category> category_named(std::string_view text) {
  const auto named = std::ranges::find(kCategories, text, &NamedCategory::text);
  if (named != kCategories.end()) return named->category;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  const auto ending = std::ranges::find_if(kEndings, [&](const NamedCategory& each) { return lower.ends_with(each.text); });
  return ending == kEndings.end() ? std::nullopt : std::optional(ending->category);
}

std::string_view accelerator_named(std::string_view category) {
  constexpr std::array<std::string_view, 7> kKnown = {"cuda", "hip", "xpu", "mtia", "hpu", "npu", "privateuse1"};
  const std::string_view prefix = category.substr(0, category.find('_'));
  if (category == "CUDA functions") return kKnown[0];
  const auto known = std::ranges::find(kKnown, prefix);
  return known == kKnown.end() ? std::string_view() : *known;
}

bool is_annotation_name(std::string_view name) {
  return std::ranges::any_of(kAnnotationPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_free_name(std::string_view name) {
  const std::string_view letters = name.substr(0, name.find_last_not_of("0123456789") + 1);
  return !name.contains("::") && !letters.ends_with("Backward") && exchange_of(name).empty();
}

std::optional<Flows::Kind> flow_named(std::string_view category) {
  constexpr std::array<std::string_view, 5> kLaunch = {"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "cpu_to_cuda"};
  constexpr std::array<std::string_view, 2> kBackward = {"fwdbwd", "forward_backward"};
  if (std::ranges::find(kLaunch, category) != kLaunch.end()) return Flows::Kind::launch;
  if (std::ranges::find(kBackward, category) != kBackward.end()) return Flows::Kind::backward;
  return std::nullopt;
}

}  // namespace hotlens::trace
