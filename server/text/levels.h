// What the text shows of a level of a step, or of the whole recording: tracks of runs on an axis of cells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"
#include "server/text/axis.h"

namespace hotlens::text {

struct ShownLevel {
  std::string title;
  Moments extent;  // of all that the level shows; the axis has the part that is seen
  Axis axis;
  std::vector<features::ShownTrack> tracks;
  std::size_t more_tracks = 0;  // left out

  Moments seen() const { return axis.window; }
};

struct Looked {
  std::size_t width = 1;  // cells
  std::optional<Moments> zoom = {};
  bool unfold = false;
};

// The server draws a block of many short spans as many narrow pieces, so that what is drawn is as wide as the block is busy. To the eye and
// the cursor they are one thing: pieces of one block with less than about a cell between them become one run.
std::vector<features::ShownBlock> runs_of(std::vector<features::ShownBlock> pieces, Ns pixel);

// `step`: what is known of the step beside its blocks, for the title of the topmost level; may be null.
ShownLevel level_of(const blocks::Blocks& blocks, std::uint32_t block, const profile::Step* step, const Looked& looked);
ShownLevel level_of(const features::Recording& recording, const profile::Profile& profile, const Looked& looked);

}  // namespace hotlens::text
