// Which device work a step's tree shows, and on which track.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "annotator/blocks/blocks.h"

namespace hotlens::blocks {

// Work that overlaps on one stream lies on the first lane that is free; communication has lanes of its own.
struct Lane {
  std::uint32_t stream = 0;  // the thread of the trace that stands for it
  bool communicates = false;
  bool mixed = false;               // the stream has lanes of both kinds
  std::size_t number = 0;           // of the lane, among those of the stream of its kind
  Ns reached = Ns::min();           // end of its last work
  std::vector<std::uint32_t> work;  // positions in Account::work, by start
};

// What the step launched, and what of earlier steps runs until the last of that ends.
std::vector<Lane> lanes_of(const attribution::Account& account, const attribution::StepAccount& step);

BlockTrack device_track(const profile::Annotated& annotated, const Lane& lane);

}  // namespace hotlens::blocks
