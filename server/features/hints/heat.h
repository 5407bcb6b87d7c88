// How hot each line is: a level for the mark that a client draws beside the line, and the share that it stands for.
//
// The shares are those of the time hints, also while hints tell something else. A mark of three heights tells levels apart without colour.
#pragma once

#include <cstdint>
#include <vector>

#include "server/features/features.h"
#include "server/features/hints/hint_memory.h"

namespace hotlens::features {

struct Heat {
  std::uint32_t line = 0;
  int level = 1;     // 1 to 3
  double share = 0;  // of an update
  friend bool operator==(const Heat&, const Heat&) = default;
};

// 3: a fifth and more, where looking for time begins; 2: a twentieth and more; 1: the rest.
int heat_level(double share);

// Sorted by line: those with a time that takes at least this share. `memory` is for this list alone.
std::vector<Heat> heat(const FileView& view, double min_share, HintMemory& memory);

}  // namespace hotlens::features
