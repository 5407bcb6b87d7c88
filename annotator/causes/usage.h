// What the representative step ran: kernels (or operators) by module, and what its critical path is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/profile/profile.h"

namespace hotlens::causes {

struct Usage {
  std::vector<profile::Kernel> kernels;
  std::vector<profile::KernelUse> step;                    // longest first
  std::vector<std::vector<profile::KernelUse>> by_module;  // longest first
  profile::Causes spent{}, critical{};
  std::vector<profile::Causes> spent_by_module, critical_by_module;
  std::vector<profile::HostFunction> functions;
  std::vector<profile::CriticalPart> path;
  std::vector<profile::Causes> spent_by_line, critical_by_line;  // inclusive; of backward work the line whose forward made it, if known
};

struct UsageInput {
  const trace::Trace& trace;
  const attribution::Forest& forest;
  const attribution::Account& account;
  const attribution::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  std::optional<trace::ThreadId> main = {};  // the thread that drives the steps
  std::size_t representative = 0;
  std::size_t lines = 0;  // that Owners::lines are of
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
std::vector<LabelUse> by_label(const profile::Profile& profile, std::span<const profile::KernelUse> uses);

// What holds a step up while a kernel or operator of this family runs.
profile::Cause cause_of(kernels::Family family);

}  // namespace hotlens::causes
