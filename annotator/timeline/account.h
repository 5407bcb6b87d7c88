// The account of a step: every nanosecond of its host and device time, once, with its owner and its bucket.
//
// Host time is cut at the edges of nested nodes; each piece belongs to the innermost node there. Time between two operators belongs to what
// both are inside of when they are in the same stage, else to the host. While the main thread only waits for a backward thread, that
// thread's pieces stand for it. Device time is the union over streams; where kernels overlap the one that began first counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "annotator/timeline/owners.h"
#include "annotator/timeline/steps.h"

namespace hotlens::timeline {

struct Piece {
  Ns start{}, end{};
  Owner owner;
  Bucket bucket = Bucket::unattributed;
  bool idle = false;  // outside every operator and range: the thread runs other code, or waits
};

// Device work and the launch it comes from.
struct Work {
  std::uint32_t event = 0;
  std::uint32_t launch = kNoNode;  // node; kNoNode when the launch lies outside the recording
  Ns start{}, end{};
  Ns launched{};  // start of the launch, or of the work itself where that is not known
  Owner owner;
  Bucket bucket = Bucket::unattributed;
};

struct StepAccount {
  StepSpan span;
  std::vector<Piece> wall;                  // the main thread's time, partitioned, in order
  std::vector<std::vector<Piece>> workers;  // other threads' own pieces; they run beside the wall
  std::vector<std::uint32_t> launched;      // into Account::work: launched in this step, by start
  std::array<Ns, kBuckets> wall_by_bucket{}, device_by_bucket{};
  std::array<Ns, kStages> wall_by_stage{}, cpu_by_stage{}, device_by_stage{};
  Ns device{};  // busy within the span
};

struct Account {
  std::vector<StepAccount> steps;
  std::vector<Work> work;  // by start
};

Account account(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners);

Bucket bucket_of(const Owner& owner);

}  // namespace hotlens::timeline
