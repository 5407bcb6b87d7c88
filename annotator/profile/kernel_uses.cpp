#include "annotator/profile/kernel_uses.h"

#include <algorithm>

namespace hotlens::profile {
namespace {

void add(std::vector<KernelUse>& uses, KernelId kernel, Ns time, std::int64_t calls) {
  if (uses.empty() || uses.back().kernel != kernel) uses.push_back({.kernel = kernel});
  uses.back().calls += calls;
  uses.back().time += time;
}

void sort_by_time(std::vector<KernelUse>& uses) {
  std::ranges::stable_sort(uses, std::ranges::greater{}, &KernelUse::time);
}

}  // namespace

void KernelRuns::add(KernelId kernel, const timeline::Owner& owner, Ns time, std::int64_t calls) {
  if (kernel.index >= runs_.size()) runs_.resize(kernel.index + std::size_t{1});
  runs_[kernel.index].push_back({owner, time, calls});
}

KernelRuns::Sums KernelRuns::sums(Stack& modules, std::size_t count) const {
  Sums sums{.step = {}, .by_module = std::vector<std::vector<KernelUse>>(count)};
  for (std::uint32_t number = 0; number < runs_.size(); ++number) {
    const KernelId kernel{number};
    for (const Run& run : runs_[number]) {
      profile::add(sums.step, kernel, run.time, run.calls);
      for (const std::uint32_t module : modules_of(run.owner, modules)) profile::add(sums.by_module[module], kernel, run.time, run.calls);
    }
  }
  sort_by_time(sums.step);
  for (std::vector<KernelUse>& uses : sums.by_module) sort_by_time(uses);
  return sums;
}

}  // namespace hotlens::profile
