#include "server/text/walk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hotlens::text {
namespace {

using features::ShownBlock;
using features::ShownTrack;

constexpr Ns kLeastWindow{20};

// The first block from `index` on that is work.
std::optional<Cursor> work_from(const Levels& levels, Cursor cursor, std::ptrdiff_t index, Way way) {
  const std::vector<ShownBlock>& blocks = track_at(levels, cursor).blocks;
  const auto count = static_cast<std::ptrdiff_t>(blocks.size());
  while (index >= 0 && index < count && blocks[static_cast<std::size_t>(index)].kind == "idle") index += static_cast<int>(way);
  if (index < 0 || index >= count) return std::nullopt;
  cursor.index = static_cast<std::size_t>(index);
  return cursor;
}

Ns distance(const ShownBlock& block, Ns at) {
  const Ns last = block.start + std::max(block.duration, Ns(1)) - Ns(1);
  return std::max({block.start - at, at - last, Ns{}});
}

Ns scaled(Ns time, double factor) {
  return Ns(std::llround(static_cast<double>(time.count()) * factor));
}

}  // namespace

const ShownTrack& track_at(const Levels& levels, const Cursor& cursor) {
  return levels[cursor.depth].tracks[cursor.track];
}

const ShownBlock& block_at(const Levels& levels, const Cursor& cursor) {
  return track_at(levels, cursor).blocks[cursor.index];
}

std::optional<Cursor> first_in(const Levels& levels, std::size_t depth, std::string_view segment) {
  const std::vector<ShownTrack>& tracks = levels[depth].tracks;
  for (std::size_t track = 0; track < tracks.size(); ++track) {
    const auto found = std::ranges::find_if(tracks[track].blocks, [segment](const ShownBlock& block) {
      return segment.empty() ? !block.segment.empty() : block.segment == segment;
    });
    if (found != tracks[track].blocks.end()) return Cursor{depth, track, static_cast<std::size_t>(found - tracks[track].blocks.begin())};
  }
  return std::nullopt;
}

std::optional<Cursor> nearest(const Levels& levels, std::size_t depth, std::size_t track, Ns at) {
  std::optional<Cursor> best;
  Ns least = Ns::max();
  const std::vector<ShownBlock>& blocks = levels[depth].tracks[track].blocks;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    const Ns away = distance(blocks[index], at);
    if (blocks[index].kind == "idle" || away >= least) continue;
    best = {depth, track, index};
    least = away;
  }
  return best;
}

std::optional<Cursor> sideways(const Levels& levels, const Cursor& cursor, Way way) {
  return work_from(levels, cursor, static_cast<std::ptrdiff_t>(cursor.index) + static_cast<int>(way), way);
}

std::optional<Cursor> end_of(const Levels& levels, const Cursor& cursor, Way way) {
  if (way == Way::back) return work_from(levels, cursor, 0, Way::on);
  return work_from(levels, cursor, static_cast<std::ptrdiff_t>(track_at(levels, cursor).blocks.size()) - 1, Way::back);
}

std::optional<Cursor> updown(const Levels& levels, const Cursor& cursor, Way way) {
  const ShownBlock& block = block_at(levels, cursor);
  const Ns middle = block.start + block.duration / 2;
  const auto step = [way](std::size_t at) { return at + static_cast<std::size_t>(static_cast<std::int64_t>(way)); };  // wraps below 0
  std::size_t track = step(cursor.track);
  for (std::size_t depth = cursor.depth; depth < levels.size();) {
    for (; track < levels[depth].tracks.size(); track = step(track)) {
      if (auto found = nearest(levels, depth, track, middle)) return found;
    }
    depth = step(depth);
    track = way == Way::on || depth >= levels.size() ? 0 : levels[depth].tracks.size() - 1;
  }
  return std::nullopt;
}

Moments filled(const ShownBlock& block) {
  return {block.start, block.start + std::max(Ns(1), block.duration)};
}

std::optional<Moments> zoomed(const ShownLevel& level, Ns middle, double factor) {
  const Ns half = std::max(kLeastWindow, scaled(level.seen().length(), factor)) / 2;
  const Moments window{std::max(level.extent.from, middle - half), std::min(level.extent.to, middle + half)};
  return window == level.extent ? std::nullopt : std::optional(window);
}

Moments panned(const ShownLevel& level, double by) {
  const Ns length = level.seen().length();
  const Ns latest = std::max(level.extent.from, level.extent.to - length);
  const Ns from = std::clamp(level.seen().from + scaled(length, by), level.extent.from, latest);
  return {from, from + length};
}

}  // namespace hotlens::text
