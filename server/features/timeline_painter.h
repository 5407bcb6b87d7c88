// Level of detail of one track: spans in, rectangles for so many pixels out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::features {

constexpr std::uint32_t kMaxWidth = 8192;     // CSS pixels
constexpr std::size_t kMaxRectangles = 3000;  // of one answer: about 150 kB as JSON

struct Rectangle {
  Ns start{}, duration{};
  std::uint32_t block = 0;  // the longest one, by a number of the caller's
  std::uint32_t count = 1;  // blocks that it stands for
};

// Draws the spans of one track, in order of time: those at least a pixel wide are rectangles of their own, narrower neighbours inside one
// pixel become one that counts them, spans of one block less than a pixel apart are one.
class Painter {
 public:
  Painter(Ns from, Ns to, Ns pixel) : from_(from), to_(to), pixel_(pixel) {}

  void add(std::uint32_t block, Ns start, Ns end, bool idle) {
    if (!idle) busy_ += std::max(Ns{}, std::min(end, to_) - std::max(start, from_));
    const Ns duration = end - start;
    if (idle) {
      if (duration >= pixel_) put({start, duration, block, 1});
    } else if (!rectangles_.empty() && joins(start, end, block)) {
      join(block, start, end);
    } else {
      put({start, duration, block, 1});
      longest_ = duration;
      idle_ = false;
    }
  }

  Ns busy() const { return busy_; }
  std::vector<Rectangle> take() { return std::move(rectangles_); }

 private:
  void put(const Rectangle& rectangle) {
    rectangles_.push_back(rectangle);
    idle_ = true;
  }

  bool joins(Ns start, Ns end, std::uint32_t block) const {
    const Rectangle& last = rectangles_.back();
    if (idle_) return false;
    const Ns last_end = last.start + last.duration;
    if (last.block == block && last.count == 1) return start - last_end < pixel_;
    return end - start < pixel_ && end - last.start < pixel_;
  }

  void join(std::uint32_t block, Ns start, Ns end) {
    Rectangle& last = rectangles_.back();
    last.duration = end - last.start;
    if (last.block != block || last.count > 1) ++last.count;
    if (end - start > longest_) {
      longest_ = end - start;
      last.block = block;
    }
  }

  Ns from_, to_, pixel_;
  std::vector<Rectangle> rectangles_;
  Ns longest_{}, busy_{};
  bool idle_ = true;  // the last rectangle is idle time, or there is none
};

}  // namespace hotlens::features
