#include "annotator/trace/category.h"

#include <algorithm>
#include <array>

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
});

constexpr std::array<std::string_view, 4> kAnnotationPrefixes = {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#",
                                                                 "DistributedDataParallel."};

}  // namespace

bool on_device(Category category) {
  return category == Category::kernel || category == Category::copy || category == Category::fill;
}

Category category_named(std::string_view text) {
  const auto named = std::ranges::find(kCategories, text, &NamedCategory::text);
  return named == kCategories.end() ? Category::other : named->category;
}

bool is_annotation_name(std::string_view name) {
  return std::ranges::any_of(kAnnotationPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_free_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kCollectives = {"nccl:", "gloo:", "mpi:", "ucc:"};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const std::string_view letters = name.substr(0, name.find_last_not_of("0123456789") + 1);
  return !name.contains("::") && !letters.ends_with("Backward") && std::ranges::none_of(kCollectives, begins);
}

std::optional<Flows::Kind> flow_named(std::string_view category) {
  constexpr std::array<std::string_view, 5> kLaunch = {"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "cpu_to_cuda"};
  constexpr std::array<std::string_view, 2> kBackward = {"fwdbwd", "forward_backward"};
  if (std::ranges::find(kLaunch, category) != kLaunch.end()) return Flows::Kind::launch;
  if (std::ranges::find(kBackward, category) != kBackward.end()) return Flows::Kind::backward;
  return std::nullopt;
}

}  // namespace hotlens::trace
