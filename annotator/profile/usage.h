// What the representative step ran: kernels (or operators) by module, and what its critical path is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/profile.h"
#include "annotator/timeline/account.h"

namespace hotlens::profile {

struct Usage {
  std::vector<Kernel> kernels;
  std::vector<KernelUse> step;                    // longest first
  std::vector<std::vector<KernelUse>> by_module;  // longest first
  Causes path{};
  std::vector<Causes> path_by_module;
};

struct UsageInput {
  const trace::Trace& trace;
  const timeline::Forest& forest;
  const timeline::Account& account;
  const timeline::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  std::size_t representative = 0;
};

// On a run without device work operators take the place of kernels: those that call no other operator and touch elements.
Usage usage(const UsageInput& input);

// What holds a step up while a kernel or operator of this family runs.
Cause cause_of(Family family);

}  // namespace hotlens::profile
