#include "annotator/causes/kernel_uses.h"

#include <algorithm>

namespace hotlens::causes {
namespace {

void append(std::vector<profile::KernelUse>& uses, profile::KernelId kernel, Ns time, std::int64_t calls) {
  if (uses.empty() || uses.back().kernel != kernel) uses.push_back({.kernel = kernel});
  uses.back().calls += calls;
  uses.back().time += time;
}

void sort_by_time(std::vector<profile::KernelUse>& uses) {
  std::ranges::stable_sort(uses, std::ranges::greater{}, &profile::KernelUse::time);
}

}  // namespace

void KernelRuns::add(profile::KernelId kernel, const attribution::Owner& owner, Ns time, std::int64_t calls) {
  if (kernel.index >= runs_.size()) runs_.resize(kernel.index + std::size_t{1});
  runs_[kernel.index].push_back({owner, time, calls});
}

KernelRuns::Sums KernelRuns::sums(attribution::Stack& modules, std::size_t count) const {
  Sums sums{.step = {}, .by_module = std::vector<std::vector<profile::KernelUse>>(count)};
  for (std::uint32_t number = 0; number < runs_.size(); ++number) {
    const profile::KernelId kernel{number};
    for (const Run& run : runs_[number]) {
      append(sums.step, kernel, run.time, run.calls);
      for (const std::uint32_t module : modules_of(run.owner, modules)) append(sums.by_module[module], kernel, run.time, run.calls);
    }
  }
  sort_by_time(sums.step);
  for (std::vector<profile::KernelUse>& uses : sums.by_module) sort_by_time(uses);
  return sums;
}

}  // namespace hotlens::causes
