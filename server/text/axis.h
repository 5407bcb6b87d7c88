// Time to cells and back.
//
// A device may run far behind its host: a level would then be mostly the time between the two. Such a gap, in which nothing of the level
// happens on any track, is drawn at a fixed width, and the axis says how long it is.
#pragma once

#include <optional>
#include <vector>

#include "server/features/timeline/shown.h"

namespace hotlens::text {

constexpr std::size_t kGapCells = 10;  // room for its time

struct Moments {
  Ns from{}, to{};

  Ns length() const { return to - from; }
  friend bool operator==(const Moments&, const Moments&) = default;
};

struct Cells {
  std::size_t first = 0, end = 0;  // from the left edge

  std::size_t count() const { return end - first; }
};

struct Axis {
  Moments window;
  std::size_t width = 1;       // cells
  std::optional<Moments> gap;  // the part of the window that is drawn kGapCells wide

  double position(Ns at) const;        // cells from the left edge, with fractions
  Ns time_at(double cell) const;       // at the cell's left edge
  Cells cells(Moments stretch) const;  // at least one
  std::size_t fine_width() const;      // cells that the window would need without a gap to be as fine

 private:
  double per_cell() const;  // nanoseconds outside the gap
};

Axis axis_of(const std::vector<features::ShownTrack>& tracks, Moments window, std::size_t width);

}  // namespace hotlens::text
