// What stands below the levels: the chosen block, what a stretch of time holds, the most memory. Lines, not yet harmless.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"
#include "server/features/timeline/range.h"
#include "server/text/axis.h"

namespace hotlens::text {

// Folders that file names are told from.
struct Near {
  std::string folder, home;
};

// "▸ conv1 · module · 61.7 ms · 12.0 % of the step · CPU main". `of`: "step" or "recording", which lasts `whole`.
std::string chosen_line(const features::ShownTrack& track, const features::ShownBlock& block, Ns whole, std::string_view of);

// Its times, what limits it, the longest of what it ran, its lines.
std::vector<std::string> details_of(const blocks::Blocks& blocks, const profile::Profile& profile, std::uint32_t block, const Near& near);

// "memory at most 6.60 MB, in backward of layer2.0: 1.20 MB of it here"; nothing where that is not known. `block` may be kNoBlock.
std::optional<std::string> memory_line(const blocks::Blocks& blocks, const profile::Profile& profile, std::uint32_t block);

// What ran within a window.
std::vector<std::string> lines_of(const features::RangeSums& sums, Moments window);

}  // namespace hotlens::text
