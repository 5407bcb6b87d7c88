// What the representative step ran: kernels (or operators) by module, and what its critical path is made of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"
#include "annotator/timeline/account.h"

namespace hotlens::profile {

struct Usage {
  std::vector<Kernel> kernels;
  std::vector<KernelUse> step;                    // longest first
  std::vector<std::vector<KernelUse>> by_module;  // longest first
  Causes spent{}, critical{};
  std::vector<Causes> spent_by_module, critical_by_module;
};

struct UsageInput {
  const trace::Trace& trace;
  const timeline::Forest& forest;
  const timeline::Account& account;
  const timeline::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  std::size_t representative = 0;
};

// On a run without device work operators take the place of kernels: those that do their work
// themselves and touch elements.
Usage usage(const UsageInput& input);

// Uses summed by label, longest first: names that differ only in what nobody reads become one.
struct LabelUse {
  std::string label;
  std::int64_t calls = 0;
  Ns time{};
};
std::vector<LabelUse> by_label(const Profile& profile, std::span<const KernelUse> uses);

// What holds a step up while a kernel or operator of this family runs.
Cause cause_of(Family family);

}  // namespace hotlens::profile
