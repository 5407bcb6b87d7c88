// The account of a step: every nanosecond of its host and device time, once, with its owner and its bucket.
//
// Host time is cut at the edges of nested nodes; each piece belongs to the innermost node there. Time between two operators belongs to what
// both are inside of when they are in the same stage, else to the host; a long pause to what a map step shows there (pauses.h). While the
// main thread only waits for a backward thread, that thread's pieces stand for it. Device time is the union over streams; where kernels
// overlap the one that began first counts, communication only where nothing else runs.
//
// Without device work, idle time of the main thread during an exchange of the process with others is communication (exchanges.h).
//
// Waiting is host time that only the device can end: synchronisations; the launch of a copy that returns only after the copy is done (of
// a copy to the device until it begins: then the host helps to move the data); a launch that takes long while the device is busy throughout
// (its queue is full); and what follows the last event of the recording's host.
//
// A host may run ahead of the device, by a whole step and more. While it does so to the same extent, a step's span is as long as the step
// takes. Where it gets further and further ahead, spans are too short: such a step takes until the device has caught up by as much
// (`behind`): waiting, of no stage, after the host's pieces. A step that then waits for all of it has a span that is too long: what it
// waits for earlier steps is their time, not its own (`caught_up`). Device time is told twice:
// - Buckets tell what the device did within `window`, whichever step launched it; with the gaps they cover it exactly. The window is the
//   span, later by how far the device is behind where the host gets ahead (windows.h). Work keeps the bucket of its launch; work without a
//   launch in the recording is the bucket earlier_step. `carried` says how much of it is not this step's own.
// - Stages and modules tell what the step launched, whenever that ran.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "annotator/attribution/account/device.h"
#include "annotator/attribution/owners/places.h"

namespace hotlens::attribution {

struct Piece {
  Ns start{}, end{};
  Owner owner;
  Bucket bucket = Bucket::unattributed;
  bool idle = false;             // outside every operator and range: the thread runs other code, or waits
  std::uint32_t node = kNoNode;  // innermost node there; kNoNode outside all
  bool lent = false;             // of a backward thread, standing for the main thread that waits for it
  Ns pause{};                    // of a part of a divided pause: how long that is; else 0
};

// A stage's time that belongs to one place.
struct PlaceTimes {
  Ns wall{}, cpu{}, device{};
  Ns waiting{};  // part of wall
};

struct StepAccount {
  StepSpan span;
  Interval window;                          // as long as the span and `behind`, less `caught_up`
  Ns behind{}, caught_up{};                 // in the sums, not in the pieces; one of them is 0
  std::vector<Piece> wall;                  // the main thread's time within the span, partitioned, in order
  std::vector<std::vector<Piece>> workers;  // other threads' own pieces; they run beside the wall
  std::vector<std::uint32_t> launched;      // into Account::work: launched in this step, by start
  std::array<Ns, kBuckets> wall_by_bucket{}, device_by_bucket{};
  std::array<Ns, kStages> wall_by_stage{}, cpu_by_stage{}, device_by_stage{}, waiting_by_stage{};
  std::array<Ns, kStages> guessed_by_stage{};  // part of wall that has a place only because of what ran before (places.h)
  std::vector<PlaceTimes> by_place;            // as the places given
  Ns device{};                                 // busy within the window
  Ns carried{};                                // of it with work launched before the step began, or before the recording
  // On the device, within the window: when any communication runs, and the part of that beside which no other work does. The bucket holds
  // the exposed part, but what was launched before the recording, which is in `earlier_step`.
  Ns communication{}, exposed_communication{};
  Ns earlier_communication{};  // exposed, part of bucket earlier_step
  std::vector<Gap> gaps;       // idle device time of the window, in order; empty for a trace without device work
};

struct Account {
  std::vector<StepAccount> steps;
  std::vector<Work> work;   // by start
  std::vector<Ns> reached;  // by work: the latest end so far
  Interval recorded;        // from the first to the last event of the host
};

// `places`: what to count the stages' times by.
Account account(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners, const Places& places = {});

}  // namespace hotlens::attribution
