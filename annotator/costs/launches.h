// How the launches of a step went: how long work waits, how much of it is queued, what copies reach, and why the device idles.
//
// The words of HolisticTraceAnalysis, so that numbers can be compared; the idle time is that of the causes (annotator/causes/gap.h),
// divided more coarsely, and agrees with them to the nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/attribution/account/account.h"

namespace hotlens::costs {

// Copies in one direction, from or to one kind of host memory.
struct Transfers {
  std::string_view direction, memory;  // "HtoD", "DtoH", "DtoD", "PtoP"; "pageable", "pinned", empty where the name does not tell
  std::int64_t calls = 0, bytes = 0;   // bytes: of those that tell them
  Ns time{}, timed{};                  // of all; of those that tell their bytes

  std::optional<double> bytes_per_s() const;  // nothing where none tells its bytes
};

struct Launches {
  std::int64_t kernels = 0;          // launched by the step one at a time: what a graph launches has no launch of its own
  std::int64_t in_graphs = 0;        // the others whose launch is known
  Ns delay_median{}, delay_p90{};    // from the end of the launch to the start of its kernel; 0 where it started before
  std::int64_t shorter = 0;          // kernels that run shorter than their launch took
  double queued_mean = 0;            // pieces of work that are launched and do not run yet, over the step
  double queue_empty = 0;            // share of the step in which there are none
  std::vector<Transfers> transfers;  // launched by the step, longest first
  // While the device idles: the host has not yet launched what comes next, or is launching it; the next work follows the one before it
  // directly; it is queued and does not run, or nothing of the host was recorded.
  Ns host_wait{}, kernel_wait{}, other_wait{};
};

// HTA's consecutive_kernel_delay: two kernels this close follow one another directly.
constexpr Ns kConsecutive{30};

// Of each piece of device work the part of the step in which it is launched and does not run yet: from when its launch begins until it
// runs. In the order of the work.
std::vector<attribution::Interval> queued_work(const attribution::Account& account, const attribution::StepSpan& step);

// Nothing for a step that launched nothing on a device.
std::optional<Launches> launches(const trace::Trace& trace, const attribution::Forest& forest, const attribution::Account& account,
                                 std::size_t step);

}  // namespace hotlens::costs
