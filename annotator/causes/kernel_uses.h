// How often and how long each kernel (or operator) ran: in a step, and in each module of it.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/owners/stack.h"
#include "annotator/profile/profile.h"

namespace hotlens::causes {

// Gathers runs in any order and adds them up kernel by kernel: a module's sum for the kernel at hand is then its last one, and nothing
// needs to be looked up.
class KernelRuns {
 public:
  void add(profile::KernelId kernel, const attribution::Owner& owner, Ns time, std::int64_t calls);

  struct Sums {
    std::vector<profile::KernelUse> step;                    // longest first
    std::vector<std::vector<profile::KernelUse>> by_module;  // longest first
  };
  // `modules`: the distinct modules around an execution, of `count` modules.
  Sums sums(attribution::Stack& modules, std::size_t count) const;

 private:
  struct Run {
    attribution::Owner owner;
    Ns time{};
    std::int64_t calls = 0;
  };
  std::vector<std::vector<Run>> runs_;  // by kernel
};

}  // namespace hotlens::causes
