// The timeline of a step for a terminal: levels one below the other.
//
// The first level is the step; each further one opens the block of the level above that takes most time, down to what explains it. With
// `color` blocks have the colours of the page.
#pragma once

#include <string>

#include "annotator/blocks/blocks.h"

namespace hotlens::text {

struct Terminal {
  std::size_t columns = 100;  // as many as draw.h allows are taken
  std::size_t levels = 4;     // at most
  bool color = false;
};

std::string timeline(const blocks::Blocks& blocks, const Terminal& terminal);

}  // namespace hotlens::text
