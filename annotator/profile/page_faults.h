// Minor page faults of a step: memory that is touched for the first time since the system gave it.
//
// glibc's malloc gives freed memory back to the system beyond its thresholds. A training step frees and takes the same memory over and
// over, so each step may pay for it anew; whether it does depends on what else lies on the heap, so by chance, and on the thresholds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "annotator/common/units.h"

namespace hotlens::profile {

// Of steps without a profiler, medians.
struct PageFaults {
  std::int64_t count = 0;
  Ns each{};  // what one took on that machine
  Ns step{};
  bool can_end = false;  // glibc's malloc ran with its own thresholds: kKeepsFreed may end them

  Ns time() const { return std::min(count * each, step); }
  double share() const { return static_cast<double>(time().count()) / static_cast<double>(step.count()); }
};

// Before a command: its process keeps the memory that it frees, and has hardly a page fault.
inline constexpr std::string_view kKeepsFreed = "MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824";

// Fewer vary by chance, and no run tells what they take: of the step.
inline constexpr double kMuchFaulting = 0.05;

}  // namespace hotlens::profile
