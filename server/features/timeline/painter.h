// Level of detail of one track: spans in, rectangles for so many pixels out. A rectangle is as wide as its blocks are busy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::features {

constexpr std::uint32_t kMaxWidth = 8192;      // CSS pixels
constexpr std::size_t kMaxRectangles = 12000;  // of one answer: about 700 kB as JSON
constexpr std::int64_t kWholeParts = 20;       // a gap below this part of the work around it is drawn with the work

struct Rectangle {
  Ns start{}, duration{};
  std::uint32_t block = 0;  // the longest one, by a number of the caller's
  std::uint32_t count = 1;  // blocks that it stands for
  Ns busy{};                // of all its spans, to the nanosecond
  std::uint32_t spans = 1;
  Ns waiting{};  // part of `busy` in which the host waits for the device, where the caller knows it
};

// Draws the spans of one track, in order of time. Those at least a pixel wide are rectangles of their own. Narrower neighbours inside one
// pixel become one that counts them and lasts as long as they are busy, from the first's start: what is drawn is at most a pixel from where
// it was. Beyond a pixel, spans of one block are one rectangle only where the gaps between them are next to nothing and narrower than a
// pixel. So the rectangles last as long as their spans, give or take a twentieth, at every zoom.
class Painter {
 public:
  Painter(Ns from, Ns to, Ns pixel) : from_(from), to_(to), pixel_(pixel) {}

  void add(std::uint32_t block, Ns start, Ns end, bool idle) {
    if (!idle) busy_ += std::max(Ns{}, std::min(end, to_) - std::max(start, from_));
    const Ns duration = end - start;
    if (idle) {
      if (duration < pixel_) return;
      rectangles_.push_back({.start = start, .duration = duration, .block = block, .busy = duration});
      idle_ = true;
    } else if (!idle_ && joins(start, end, block)) {
      join(block, start, end);
    } else {
      rectangles_.push_back({.start = start, .duration = duration, .block = block, .busy = duration});
      longest_ = duration;
      reached_ = end;
      idle_ = false;
    }
  }

  Ns busy() const { return busy_; }
  std::vector<Rectangle> take() { return std::move(rectangles_); }

 private:
  bool joins(Ns start, Ns end, std::uint32_t block) const {
    const Rectangle& last = rectangles_.back();
    if (end - last.start < pixel_) return true;
    const Ns gap = start - reached_, gaps = start - last.start - last.busy;
    if (last.block != block || last.count > 1 || gap >= pixel_) return false;
    return gaps * kWholeParts <= end - last.start && gap * kWholeParts <= end - start;
  }

  void join(std::uint32_t block, Ns start, Ns end) {
    Rectangle& last = rectangles_.back();
    last.busy += end - start;
    ++last.spans;
    reached_ = end;
    const Ns covered = end - last.start;
    last.duration = covered < pixel_ ? last.busy : covered;
    if (last.block != block || last.count > 1) ++last.count;
    if (end - start > longest_) {
      longest_ = end - start;
      last.block = block;
    }
  }

  Ns from_, to_, pixel_;
  std::vector<Rectangle> rectangles_;
  Ns longest_{}, busy_{};
  Ns reached_{};      // where the last rectangle's spans end
  bool idle_ = true;  // the last rectangle is idle time, or there is none
};

}  // namespace hotlens::features
