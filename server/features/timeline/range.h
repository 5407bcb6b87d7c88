// What ran within a range of time: of a step, below one block of it; of the step itself all that ran, device work of earlier steps as well;
// or of the whole recording. Everything is cut at the edges of the range, so that ranges side by side add up to what holds them both.
//
// Cost: one pass over the operators and the device work of the range, and over the blocks below the block.
#pragma once

#include "server/features/timeline/facts.h"

namespace hotlens::features {

// What a stage or a layer has of the range: time on the device, each instant once (communication where nothing else runs); on a run
// without device work time of the main thread.
struct RangePart {
  std::string name;
  Ns time{};
};

struct RangeSums {
  Ns device{};                            // union over streams
  std::vector<RangePart> stages, layers;  // longest first; layers: the innermost modules, by path
  Ns exposed_communication{};             // part of `device`
  std::vector<Use> kernels;               // longest first
  std::vector<Use> operators;             // by their own time, the same
};

// `from` and `to` after the start of the step; empty sums for an empty range.
RangeSums sums_of(const blocks::Blocks& blocks, std::uint32_t block, Ns from, Ns to);

// Of all steps and what lies between them; `from` and `to` after trace.base.
RangeSums sums_of(const profile::Annotated& annotated, Ns from, Ns to);

}  // namespace hotlens::features
