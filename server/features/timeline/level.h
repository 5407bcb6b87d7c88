// One level of the timeline: what is directly inside one block, on every track that took part, within a window of time and for a picture
// of so many pixels.
//
// Level of detail: a span at least a pixel wide is a rectangle of its own; narrower neighbours inside one pixel become one rectangle that
// counts them, keeps the longest one's name and lasts as long as they are busy (painter.h). A track has at most two rectangles per
// pixel. Where that would still be more than `kMaxRectangles` for the whole answer, the pixel is taken wider until it is not. Nothing is
// lost: every span in the window has its part in a rectangle at most a pixel away. Idle time narrower than a pixel is the space between
// rectangles. Where the host waits for the device inside what is drawn is told beside it. A stage that holds one model shows what is inside
// the model. Cost: one pass over the window's spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/blocks/blocks.h"
#include "server/features/timeline/painter.h"

namespace hotlens::features {

constexpr std::size_t kMaxTracks = 24;  // drawn for one level
constexpr double kWindowMargin = 0.05;  // of the extent: how far beyond it a window may reach

struct Window {
  std::optional<Ns> from, to;  // after the start of the step; absent: the block's extent
  std::uint32_t width = 1;     // pixels
  bool unfold = false;         // equal neighbours one by one
};

struct LevelTrack {
  std::uint32_t track = 0;            // into Blocks::tracks
  Ns busy{};                          // covered in the window
  std::vector<Rectangle> rectangles;  // by start; of kNoBlock: idle device time
  std::vector<Rectangle> waits;       // inside the rectangles: the host waits for the device
};

struct Level {
  std::uint32_t block = blocks::kStepBlock;
  Ns from{}, to{};  // its extent
  Ns window_from{}, window_to{};
  Ns pixel{};                      // what is finer is drawn together
  std::vector<LevelTrack> tracks;  // host first
  std::size_t more_tracks = 0;     // left out, the least busy ones
};

Level level(const blocks::Blocks& blocks, std::uint32_t block, const Window& window);

}  // namespace hotlens::features
