// The device's side of the account: what ran there, when it was busy, when it idled and which work ended the idling.
//
// Device work is linked to its launch by correlation. All streams of all devices count as one: busy is their union. Cost: one pass over the
// events and one sort.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "annotator/attribution/owners/owners.h"
#include "annotator/attribution/steps/steps.h"

namespace hotlens::attribution {

// Device work and the launch it comes from.
struct Work {
  std::uint32_t event = 0;
  std::uint32_t launch = kNoNode;  // node; kNoNode when the launch lies outside the recording
  Ns start{}, end{};
  Ns launched{};  // start of the launch, or of the work itself where that is not known
  Ns queued{};    // end of the launch; likewise
  Ns exposed{};   // of communication: time in which no other device work runs, and no communication that began earlier
  trace::ThreadId stream;
  Owner owner;
  Bucket bucket = Bucket::unattributed;
};

// From the end of a launch to the start of its work on a device that is free: some 10 µs. Work that starts later than this waited for
// something that the trace may not tell: other streams, other processes on the device, another node of its collective.
constexpr Ns kLaunchLatency = std::chrono::microseconds(50);

// By start. Of several processes in one file only what the main thread's process launches.
std::vector<Work> device_work(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners);

struct Interval {
  Ns start{}, end{};
};

// Union of intervals that are sorted by start, and its measure within a window.
std::vector<Interval> merged(std::span<const Interval> sorted);
Ns within(std::span<const Interval> merged, Ns start, Ns end);

// When any work ran; and any work but communication.
std::vector<Interval> busy_intervals(std::span<const Work> work);
std::vector<Interval> computing_intervals(std::span<const Work> work);

// Idle device time.
struct Gap {
  Ns start{}, end{};
  std::uint32_t ended_by = kNoNode;  // into the work; kNoNode where nothing runs until the end of the step
};

// Busy time and the work it belongs to.
struct BusyPiece {
  Ns start{}, end{};
  std::uint32_t work = 0;
};

// Busy time of a window, each instant once and in order: of the work that began first, and of communication only where nothing else runs
// (exposed). `reached`: by work, the latest end so far.
std::vector<BusyPiece> busy_pieces(std::span<const Work> work, std::span<const Ns> reached, Ns start, Ns end);

Bucket bucket_of(const Owner& owner);

}  // namespace hotlens::attribution
