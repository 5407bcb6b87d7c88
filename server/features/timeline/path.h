// The critical path as a row of a level: which of what is below the block would let the run end sooner, had it been shorter.
#pragma once

#include <vector>

#include "annotator/blocks/blocks.h"
#include "server/features/timeline/painter.h"

namespace hotlens::features {

struct PathRow {
  Ns time{};                          // of the whole block on the path
  Ns busy{};                          // the same in the window
  std::vector<Rectangle> rectangles;  // by start; Rectangle::block is a block, or blocks::kNoBlock: of another step, or queued
};

// Without rectangles where nothing below the block is on it. Cost: one pass over the step's path.
PathRow path_row(const blocks::Blocks& blocks, std::uint32_t block, Ns from, Ns to, Ns pixel);

}  // namespace hotlens::features
