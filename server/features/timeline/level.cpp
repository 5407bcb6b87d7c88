#include "server/features/timeline/level.h"

#include <algorithm>

namespace hotlens::features {
namespace {

using blocks::Block;
using blocks::BlockGroup;
using blocks::Blocks;
using blocks::kNoBlock;

// The spans of a group that reach into the window: since they do not overlap, both edges are ordered.
BlockGroup visible(const Blocks& blocks, const BlockGroup& group, Ns from, Ns to) {
  const auto ends = blocks.span_end.begin();
  const auto starts = blocks.span_start.begin();
  const auto begin = static_cast<std::uint32_t>(std::upper_bound(ends + group.begin, ends + group.end, from) - ends);
  const auto end = static_cast<std::uint32_t>(std::lower_bound(starts + begin, starts + group.end, to) - starts);
  return {group.track, begin, std::max(begin, end)};
}

// What is looked through, down to what is inside it.
struct Look {
  bool unfold = false;              // folds
  std::uint32_t lifted = kNoBlock;  // a model, and what it is wrapped into
};

bool sees_through(const Blocks& blocks, const Look& look, std::uint32_t block, Block::Kind kind) {
  if (kind == Block::Kind::fold) return look.unfold;
  std::uint32_t at = kind == Block::Kind::module ? look.lifted : kNoBlock;
  while (at != kNoBlock && at != block) at = blocks.blocks[at].parent;
  return at == block;
}

void paint(const Blocks& blocks, const BlockGroup& shown, const Look& look, Ns from, Ns to, Painter& painter) {
  for (std::uint32_t span = shown.begin; span < shown.end; ++span) {
    const std::uint32_t block = blocks.span_block[span];
    const Block::Kind kind = blocks.span_kind[span];
    if (!sees_through(blocks, look, block, kind)) {
      painter.add(block, blocks.span_start[span], blocks.span_end[span], kind == Block::Kind::idle);
      continue;
    }
    const Look inside{.unfold = look.unfold && kind != Block::Kind::fold, .lifted = look.lifted};
    const Ns first = std::max(from, blocks.span_start[span]), last = std::min(to, blocks.span_end[span]);
    for (const BlockGroup& group : blocks.groups_below(block)) {
      if (group.track == shown.track) paint(blocks, visible(blocks, group, first, last), inside, first, last, painter);
    }
  }
}

// Idle device time at least a pixel wide, between what is drawn already.
void add_gaps(const std::vector<attribution::Interval>& gaps, Ns from, Ns to, Ns pixel, std::vector<Rectangle>& rectangles) {
  auto gap = std::ranges::upper_bound(gaps, from, {}, &attribution::Interval::end);
  const std::size_t drawn = rectangles.size();
  for (; gap != gaps.end() && gap->start < to; ++gap) {
    const Ns start = std::max(gap->start, from);
    const Ns end = std::min(gap->end, to);
    if (end - start >= pixel) rectangles.push_back({.start = start, .duration = end - start, .block = kNoBlock, .busy = end - start});
  }
  std::ranges::inplace_merge(rectangles, rectangles.begin() + static_cast<std::ptrdiff_t>(drawn), {}, &Rectangle::start);
}

// When the host waits inside the blocks that are drawn, and how much of each of them that is. What the level shows as waiting already is
// left out.
void add_waits(const Blocks& blocks, const Level& level, Ns pixel, LevelTrack& drawn) {
  const std::vector<std::uint32_t>& waits = blocks.waits[drawn.track];
  const blocks::BlockIndex& index = blocks.index;
  Painter painter(level.window_from, level.window_to, pixel);
  const auto start_of = [&](std::uint32_t span) { return blocks.span_start[span]; };
  const auto end_of = [&](std::uint32_t span) { return blocks.span_end[span]; };
  auto wait = std::ranges::upper_bound(waits, level.window_from, {}, end_of);
  auto rectangle = drawn.rectangles.begin();
  for (; wait != waits.end() && start_of(*wait) < level.window_to; ++wait) {
    const std::uint32_t block = blocks.span_block[*wait];
    if (!index.ranks[level.block].hold(index.ranks[block].begin)) continue;
    while (rectangle != drawn.rectangles.end() && std::next(rectangle) != drawn.rectangles.end() &&
           std::next(rectangle)->start <= start_of(*wait))
      ++rectangle;
    if (rectangle == drawn.rectangles.end()) break;
    if (rectangle->block != kNoBlock) rectangle->waiting += end_of(*wait) - start_of(*wait);
    if (rectangle->block != block) painter.add(level.block, start_of(*wait), end_of(*wait), false);
  }
  drawn.waits = painter.take();
}

LevelTrack draw(const Blocks& blocks, const BlockGroup& shown, const Window& window, const Level& level, Ns pixel) {
  Painter painter(level.window_from, level.window_to, pixel);
  const auto lifted = blocks.lifted.find(level.block);
  const Look look{.unfold = window.unfold, .lifted = lifted == blocks.lifted.end() ? kNoBlock : lifted->second};
  paint(blocks, shown, look, level.window_from, level.window_to, painter);
  LevelTrack track{.track = shown.track, .busy = painter.busy(), .rectangles = painter.take(), .waits = {}};
  add_waits(blocks, level, pixel, track);
  return track;
}

// Idle time of each device on its busiest track here.
void draw_gaps(const Blocks& blocks, Level& level, Ns pixel) {
  const Ns from = std::max(level.from, level.window_from), to = std::min(level.to, level.window_to);
  for (const auto& [device, gaps] : blocks.gaps) {
    LevelTrack* busiest = nullptr;
    for (LevelTrack& track : level.tracks) {
      const blocks::BlockTrack& of = blocks.tracks[track.track];
      if (of.kind == blocks::BlockTrack::Kind::host || of.device != device) continue;
      if (busiest == nullptr || track.busy > busiest->busy) busiest = &track;
    }
    if (busiest != nullptr) add_gaps(gaps, from, to, pixel, busiest->rectangles);
  }
}

Ns busy_in(const Blocks& blocks, const BlockGroup& shown) {
  Ns busy{};
  for (std::uint32_t span = shown.begin; span < shown.end; ++span) {
    if (blocks.span_kind[span] != Block::Kind::idle) busy += blocks.span_end[span] - blocks.span_start[span];
  }
  return busy;
}

// At most kMaxTracks groups, in the order of their tracks; which of them show nothing in the window is only known later.
std::vector<BlockGroup> busiest(const Blocks& blocks, std::vector<BlockGroup> groups) {
  if (groups.size() <= kMaxTracks) return groups;
  std::vector<std::pair<Ns, std::size_t>> by_time;
  for (std::size_t at = 0; at < groups.size(); ++at) by_time.emplace_back(busy_in(blocks, groups[at]), at);
  std::ranges::nth_element(by_time, by_time.begin() + kMaxTracks,
                           [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  by_time.resize(kMaxTracks);
  std::ranges::sort(by_time, {}, [](const auto& entry) { return entry.second; });
  std::vector<BlockGroup> kept;
  for (const auto& [time, at] : by_time) kept.push_back(groups[at]);
  return kept;
}

void place_window(const Window& window, Level& level) {
  const Ns extent = std::max(level.to - level.from, Ns(1));
  const Ns margin(static_cast<std::int64_t>(static_cast<double>(extent.count()) * kWindowMargin));
  const Ns low = level.from - margin, high = level.to + margin;
  level.window_from = std::clamp(window.from.value_or(level.from), low, high - Ns(1));
  level.window_to = std::clamp(window.to.value_or(level.to), level.window_from + Ns(1), high);
}

}  // namespace

Level level(const blocks::Blocks& blocks, std::uint32_t block, const Window& window) {
  const Block& of = blocks.blocks[block];
  Level level{.block = block, .from = of.first, .to = std::max(of.last, of.first + Ns(1))};
  place_window(window, level);
  std::vector<BlockGroup> groups;
  for (const BlockGroup& group : blocks.groups_below(block)) {
    groups.push_back(visible(blocks, group, level.window_from, level.window_to));
  }
  const std::vector<BlockGroup> shown = busiest(blocks, groups);
  level.more_tracks = groups.size() - shown.size();
  const std::int64_t width = std::clamp<std::int64_t>(window.width, 1, kMaxWidth);
  Ns pixel = std::max(Ns(1), (level.window_to - level.window_from) / width);
  for (;;) {
    std::size_t rectangles = 0;
    level.tracks.clear();
    for (const BlockGroup& group : shown) {
      level.tracks.push_back(draw(blocks, group, window, level, pixel));
    }
    draw_gaps(blocks, level, pixel);
    for (const LevelTrack& track : level.tracks) rectangles += track.rectangles.size() + track.waits.size();
    level.pixel = pixel;
    if (rectangles <= kMaxRectangles) return level;
    pixel *= static_cast<std::int64_t>(std::max<std::size_t>(2, rectangles / kMaxRectangles));
  }
}

}  // namespace hotlens::features
