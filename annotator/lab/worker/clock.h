// The time that a step, or a call, takes.
#pragma once

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <time.h>

#include <chrono>

namespace hotlens::lab {

inline std::chrono::nanoseconds now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Of one thread what it computes itself: whatever else runs on the machine has no part in it. Of several, and beside a device, the wall's.
inline std::chrono::nanoseconds now() {
  return now(at::get_num_threads() == 1 && !at::hasCUDA() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

}  // namespace hotlens::lab
