// Where keys lead: from block to block, from track to track, from level to level, and which part of a level is seen. Levels and a cursor
// in, a cursor out, or nothing where the way ends.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "server/text/levels.h"

namespace hotlens::text {

struct Cursor {
  std::size_t depth = 0;  // of the level
  std::size_t track = 0;
  std::size_t index = 0;  // of the block

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

enum class Way : std::int8_t { back = -1, on = 1 };  // left and up, or right and down

using Levels = std::vector<ShownLevel>;

const features::ShownTrack& track_at(const Levels& levels, const Cursor& cursor);
const features::ShownBlock& block_at(const Levels& levels, const Cursor& cursor);

// The first work of a level that can be chosen; with a `segment` the first of that.
std::optional<Cursor> first_in(const Levels& levels, std::size_t depth, std::string_view segment = {});
// The work of a track that is nearest to a moment.
std::optional<Cursor> nearest(const Levels& levels, std::size_t depth, std::size_t track, Ns at);
// The next block of the track; idle time is passed over.
std::optional<Cursor> sideways(const Levels& levels, const Cursor& cursor, Way way);
// The first (Way::back) or the last block of the track.
std::optional<Cursor> end_of(const Levels& levels, const Cursor& cursor, Way way);
// The nearest block of the next track that has work, on to the next level.
std::optional<Cursor> updown(const Levels& levels, const Cursor& cursor, Way way);

// The window that a block fills.
Moments filled(const features::ShownBlock& block);
// The window of a level `factor` times as wide, around `middle`; nothing where that is the whole level.
std::optional<Moments> zoomed(const ShownLevel& level, Ns middle, double factor);
// The window moved by a part of itself, as far as the level goes.
Moments panned(const ShownLevel& level, double by);

}  // namespace hotlens::text
