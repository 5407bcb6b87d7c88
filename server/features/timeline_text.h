// The timeline of a step as text: levels one below the other, a line per track, blocks as stretches of cells.
//
// The first level is the step; each further one opens the block of the level above that takes most time, down to what explains it. With
// `color` blocks have the colours of the page; without, an edge marks where each begins. Idle device time is dotted, waiting is hatched.
#pragma once

#include <string>

#include "annotator/blocks/blocks.h"
#include "server/features/timeline_level.h"

namespace hotlens::features {

struct TextPicture {
  std::size_t columns = 100;  // at least kLeastColumns are taken
  std::size_t levels = 4;     // at most
  bool color = false;
};
constexpr std::size_t kLeastColumns = 40, kMostColumns = 500;

std::string timeline_text(const blocks::Blocks& blocks, const TextPicture& picture);

}  // namespace hotlens::features
