// How much memory was held at every moment of a step, as the allocator counts it.
//
// It is the memory that the peak is of (memory.h): one device's, or the host's where no device is recorded, with what was held since before
// the allocator began to count. A bundle's measured steps record no memory, its map step does: then every sample stands where the operators
// around it ran in the measured step, by their twins, and in between in proportion.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/build/memory.h"

namespace hotlens::profile {

struct Annotated;

struct HeldOverTime {
  std::vector<Ns> time;             // after the step's start, ascending
  std::vector<std::int64_t> bytes;  // held from then on
  std::int64_t before = 0;          // held when the step began
  std::int32_t device = -1;         // its number; negative: the host
  bool of_map = false;              // of a bundle's map step

  bool empty() const { return time.empty(); }
};

// What a bundle's map step held, and what is needed to lay that on another step.
struct MapHeld {
  HeldOverTime held;
  attribution::StepSpan step;
  std::vector<Ns> start, duration;  // by event of the map trace
};

// The samples of a recorded step at their own times; empty without memory events or without totals.
HeldOverTime held_in(const trace::MemoryEvents& events, const attribution::StepSpan& step);

// Of the step at this position of the trace, or of a bundle's map step laid on it. `outside`: what the allocator did not count
// (MemoryAtPeak::outside). Cost: the step's memory events; of a bundle the events of the step as well, times their logarithm.
HeldOverTime held_over_time(const Annotated& annotated, std::size_t step, Bytes outside);

}  // namespace hotlens::profile
