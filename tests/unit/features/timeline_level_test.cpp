#include "server/features/timeline/level.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::features;
using namespace hotlens::blocks;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

const BlockGroup* group_on(const Blocks& blocks, std::uint32_t block, std::uint32_t track) {
  const auto groups = blocks.groups_below(block);
  const auto at = std::ranges::find(groups, track, &BlockGroup::track);
  return at == groups.end() ? nullptr : &*at;
}

bool is_work(const Blocks& blocks, const Rectangle& rectangle) {
  return rectangle.block != kNoBlock && blocks.blocks[rectangle.block].kind != Block::Kind::idle;
}

// The block that holds the operators: the step, or the stage that they are found to be.
std::uint32_t around_operators(const Blocks& blocks) {
  const auto op = std::ranges::find(blocks.blocks, Block::Kind::op, &Block::kind);
  return blocks.blocks[op->parent].kind == Block::Kind::fold ? blocks.blocks[op->parent].parent : op->parent;
}

Level level_of(const Script& script, Window window) {
  const auto blocks = blocks_of(annotated_of(script), 0);
  return level(*blocks, around_operators(*blocks), window);
}

Script many(int count) {
  Script script;
  script.range("ProfilerStep#0", 0, count * 10);
  for (int at = 0; at < count; ++at) script.op("aten::op" + std::to_string(at % 7), at * 10 + 1, 8);
  return script;
}

}  // namespace

TEST_CASE("in random windows every span is drawn at most a pixel away, and rectangles last as long as their spans") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 30)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const auto blocks = blocks_of(annotated_of(random.draw()), 1);
  const Ns length = blocks->blocks[kStepBlock].last;
  for (int round = 0; round < 20; ++round) {
    const Ns from(random.between(0, length.count() - 1));
    const Ns to = from + Ns(random.between(1, length.count()));
    const auto width = static_cast<std::uint32_t>(random.between(1, 60));
    const auto block = static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(blocks->blocks.size()) - 1));
    const Level level = features::level(*blocks, block, {.from = from, .to = to, .width = width});
    const Ns pixel = std::max(Ns(1), (level.window_to - level.window_from) / width);
    for (const LevelTrack& track : level.tracks) {
      CHECK(std::ranges::is_sorted(track.rectangles, {}, &Rectangle::start));
      CHECK(track.rectangles.size() <= 4 * width + 4);  // work and idle time
      const BlockGroup* group = group_on(*blocks, block, track.track);
      REQUIRE(group != nullptr);
      Ns busy{}, spans{};
      std::uint32_t count = 0;
      for (std::uint32_t span = group->begin; span < group->end; ++span) {
        const Ns start = blocks->span_start[span], end = blocks->span_end[span];
        if (end <= level.window_from || start >= level.window_to) continue;
        if (blocks->blocks[blocks->span_block[span]].kind == Block::Kind::idle) continue;
        busy += std::min(end, level.window_to) - std::max(start, level.window_from);
        spans += end - start;
        ++count;
        const auto near = [&](const Rectangle& rectangle) {
          return is_work(*blocks, rectangle) && rectangle.start <= start && rectangle.start + rectangle.duration >= end - pixel;
        };
        CHECK(std::ranges::any_of(track.rectangles, near));
      }
      std::size_t works = 0;
      Ns told{};
      std::uint32_t spans_told = 0;
      for (const Rectangle& rectangle : track.rectangles) {
        if (!is_work(*blocks, rectangle)) continue;
        ++works;
        told += rectangle.busy;
        spans_told += rectangle.spans;
        CHECK(rectangle.duration >= rectangle.busy);
        CHECK(rectangle.duration * 19 <= rectangle.busy * 20);
        CHECK(rectangle.waiting <= rectangle.busy);
        if (rectangle.count > 1) CHECK(rectangle.duration < pixel);
      }
      CHECK(track.busy == busy);
      CHECK(told == spans);
      CHECK(spans_told == count);
      CHECK(works <= 2 * width + 2);
    }
  }
}

TEST_CASE("short work with gaps is drawn as long as it is, whatever the zoom") {
  Script script;
  script.range("ProfilerStep#0", 0, 10000);
  for (int at = 0; at < 1000; ++at) script.op("aten::op" + std::to_string(at % 7), at * 10, 4);
  for (const std::uint32_t width : {10U, 100U, 500U, 1000U, 2000U, 8000U}) {
    const Level level = level_of(script, {.width = width});
    Ns drawn{};
    for (const Rectangle& rectangle : level.tracks[0].rectangles) {
      if (rectangle.duration != us(6)) drawn += rectangle.duration;  // else idle time, where it is wider than a pixel
    }
    CAPTURE(width);
    CHECK(level.tracks[0].busy == us(4000));
    CHECK(drawn <= us(4200));
    CHECK(drawn >= us(4000));
  }
}

TEST_CASE("gaps of a twentieth are drawn with the work around them, wider ones and those of a pixel are not") {
  const auto pieces = [](Ns gap, Ns pixel = Ns(1000)) {
    Painter painter(Ns(0), Ns(1000000), pixel);
    for (int at = 0; at < 10; ++at) painter.add(1, at * (Ns(10000) + gap), at * (Ns(10000) + gap) + Ns(10000), false);
    return painter.take().size();
  };
  CHECK(pieces(Ns(500)) == 1);
  CHECK(pieces(Ns(520)) == 10);
  CHECK(pieces(Ns(500), Ns(501)) == 1);
  CHECK(pieces(Ns(500), Ns(500)) == 10);  // as wide as a pixel: seen
}

TEST_CASE("waiting for the device is told inside the blocks around it") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  script.range("## forward ##", 100, 800);
  script.op("aten::copy_", 200, 600);
  script.launch(1, 210, 10, "cudaMemcpyAsync");
  script.launch(2, 230, 500, "cudaStreamSynchronize");
  script.kernel("gemm", 1, 225, 500);
  const auto blocks = blocks_of(annotated_of(script), 0);
  const std::uint32_t around = blocks->blocks[around_operators(*blocks)].parent == kNoBlock ? kStepBlock : around_operators(*blocks);
  const Level level = features::level(*blocks, around, {.width = 1000});
  const LevelTrack& host = level.tracks[0];
  const auto copy = std::ranges::find_if(host.rectangles, [&](const Rectangle& each) { return each.waiting > Ns{}; });
  REQUIRE(copy != host.rectangles.end());
  CHECK(copy->waiting == us(500));
  CHECK(copy->busy == us(600));
  REQUIRE(host.waits.size() == 1);
  CHECK(host.waits[0].start == us(230));
  CHECK(host.waits[0].duration == us(500));
  // Inside the operator the wait is a block: nothing has to be said twice.
  const Level inside = features::level(*blocks, copy->block, {.width = 1000});
  CHECK(inside.tracks[0].waits.empty());
}

TEST_CASE("a picture of one pixel is one rectangle, and one of many pixels shows every block") {
  const Level narrow = level_of(many(500), {.width = 1});
  REQUIRE(narrow.tracks.size() == 1);
  CHECK(narrow.tracks[0].rectangles.size() <= 2);
  CHECK(narrow.tracks[0].busy == us(500 * 8));
  const Level wide = level_of(many(100), {.width = 8192});
  std::size_t works = 0;
  for (const Rectangle& rectangle : wide.tracks[0].rectangles) works += rectangle.duration == us(8) && rectangle.count == 1 ? 1U : 0U;
  CHECK(works == 100);
}

TEST_CASE("an answer stays small however much is drawn") {
  const Level level = level_of(many(30000), {.width = 8192});
  std::size_t rectangles = 0;
  for (const LevelTrack& track : level.tracks) rectangles += track.rectangles.size();
  CHECK(rectangles <= kMaxRectangles);
  CHECK(rectangles > kMaxRectangles / 8);
}

TEST_CASE("a window beyond the ends is brought back") {
  const Script script = many(10);
  const Level before = level_of(script, {.from = us(-100000), .to = us(-50000), .width = 100});
  CHECK(before.window_from < before.window_to);
  CHECK(before.window_from >= us(-5));
  const Level behind = level_of(script, {.from = Ns::max(), .to = Ns::min(), .width = 0});
  CHECK(behind.window_from < behind.window_to);
  CHECK(behind.window_to <= us(105));
}

TEST_CASE("folds open in place when asked") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int at = 0; at < 5; ++at) script.op("aten::mul", 10 + at * 20, 15);
  const auto blocks = blocks_of(annotated_of(script), 0);
  const auto works = [&](bool unfold) {
    const Level level = features::level(*blocks, around_operators(*blocks), {.width = 1000, .unfold = unfold});
    return std::ranges::count_if(level.tracks[0].rectangles, [&](const Rectangle& rectangle) { return is_work(*blocks, rectangle); });
  };
  CHECK(works(false) == 1);
  CHECK(works(true) == 5);
}

TEST_CASE("of 10^5 tracks the busiest are drawn") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000000);
  script.op("aten::main", 1, 5);
  for (std::uint32_t thread = 1; thread <= 100000; ++thread) {
    script.op("aten::add", 10, thread == 777 ? 100000 : 5, {.thread = thread});
  }
  const auto blocks = blocks_of(annotated_of(script), 0);
  const Level level = features::level(*blocks, kStepBlock, {.width = 1000});
  CHECK(level.tracks.size() == kMaxTracks);
  CHECK(level.more_tracks == 100001 - kMaxTracks);
  CHECK(std::ranges::any_of(level.tracks, [](const LevelTrack& track) { return track.busy == us(100000); }));
}
