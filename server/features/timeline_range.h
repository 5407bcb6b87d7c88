// What ran within a range of a step's time, below one block; of the step itself all that ran, device work of earlier steps as well.
// Everything is cut at the edges of the range, so that ranges side by side add up to what holds them both.
//
// Cost: one pass over the step's operators and over the device work that began before the range ends.
#pragma once

#include "server/features/timeline_facts.h"

namespace hotlens::features {

struct RangeSums {
  Ns device{};                 // union over streams
  std::vector<Use> kernels;    // longest first, at most kMaxKernels
  std::vector<Use> operators;  // by their own time, the same
};

// `from` and `to` after the start of the step; empty sums for an empty range.
RangeSums sums_of(const profile::Blocks& blocks, std::uint32_t block, Ns from, Ns to);

}  // namespace hotlens::features
