// Communication beside everything else that its device does: what of it is exposed, so that the step is longer by it, and what other work
// hides. A row of its own below the tracks of a level, one for each device that communicates there. In a run without device work it is what
// the main thread waits for, and what of the exchanges passes while it does something else.
#pragma once

#include <string>
#include <vector>

#include "annotator/blocks/blocks.h"
#include "server/features/timeline/painter.h"

namespace hotlens::features {

struct Overlap {
  enum class Kind : std::uint8_t { exposed, hidden };
  std::string device;                 // as BlockTrack::device; empty without one
  Ns exposed{}, hidden{};             // of all that is below the block
  Ns busy{};                          // of both, in the window
  std::vector<Rectangle> rectangles;  // by start; Rectangle::block is a Kind
};

// Of what is below `block`, in a window; work that overlaps counts once. By device, those without communication left out. Cost: one pass
// over the step's communication, and over other work of its devices while that runs.
std::vector<Overlap> overlap_of(const blocks::Blocks& blocks, std::uint32_t block, Ns from, Ns to, Ns pixel);

}  // namespace hotlens::features
