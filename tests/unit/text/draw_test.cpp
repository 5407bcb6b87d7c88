#include "server/text/draw.h"

#include <algorithm>
#include <random>

#include "annotator/common/format.h"
#include "tests/unit/catch.h"
#include "tests/unit/text/fixture.h"

using namespace hotlens;
using namespace hotlens::text;
using features::ShownTrack;

namespace {

constexpr std::size_t kFirstTrack = 2;  // lines: the title, the axis

std::string repeated(std::string_view text, int times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

Picture drawn(ShownTrack track, Ns to, std::size_t width, std::optional<Chosen> chosen = std::nullopt) {
  Picture picture;
  draw(picture, level_with({std::move(track)}, {Ns(0), to}, width), chosen);
  return picture;
}

std::string line_of(const Picture& picture, const Mark& mark) {
  return picture.lines[mark.line].substr(mark.from, mark.to - mark.from);
}

}  // namespace

TEST_CASE("a small level as a picture") {
  const Picture picture = drawn(
      track_of("CPU main", {{0, 500, "conv1"}, {500, 250, "wait", "wait", "waiting"}, {750, 250, "no operator", "idle"}}), Ns(1000), 40);
  CHECK(picture.lines == std::vector<std::string>{
                             "title",
                             "                  ╷0                  ╷500 ns             ",
                             "CPU main          ▏conv1 500 ns       ▒wait▒▒▒▒▒··········",
                         });
}

TEST_CASE("a line has as many columns as it is given, whatever the names hold, and no control characters") {
  const std::string hostile = "a\nb\tc\x1b[31m\r\x07" + repeated("漢字", 40);
  for (std::size_t width = 22; width <= 160; width += 7) {
    for (const std::string& name : {std::string("conv1"), hostile, std::string(), std::string(10'000, 'x'), std::string("\xff\xfe")}) {
      const Picture picture = drawn(track_of(name, {{0, 30, name}, {40, 60, name}}), Ns(100), width);
      CAPTURE(width, name);
      CHECK(format::width(picture.lines[kFirstTrack]) == kNameColumns + width);
      for (const std::string& line : picture.lines) CHECK(format::harmless(line) == line);
    }
  }
  Picture foot;
  add_text(foot, "one\ntwo " + std::string(100'000, 'x'), "dim");
  REQUIRE(foot.lines.size() == 1);
  CHECK(foot.lines[0].starts_with("one?two"));
  CHECK(format::width(foot.lines[0]) <= kMostColumns);
}

TEST_CASE("random tracks: blocks cover the cells of their time, every mark is within its line and after the one before") {
  std::mt19937 random(GENERATE(range(1U, 40U)));
  const auto between = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  std::vector<Piece> pieces;
  std::int64_t at = 0;
  for (int count = between(1, 30); count > 0; --count) {
    const int duration = between(1, 400);
    pieces.push_back({at, duration, "b漢" + std::to_string(count), between(0, 4) == 0 ? "idle" : "module"});
    at += duration + between(0, 50);
  }
  const auto width = static_cast<std::size_t>(between(22, 200));
  const ShownTrack track = track_of("cpu", pieces);
  const Picture picture = drawn(track, Ns(at), width, Chosen{.track = 0, .index = 0});
  std::size_t line = 0, reached = 0;
  for (const Mark& mark : picture.marks) {
    if (mark.line != line) reached = 0;
    line = mark.line;
    CHECK(mark.from >= reached);
    CHECK(mark.from < mark.to);
    CHECK(mark.to <= picture.lines[mark.line].size());
    reached = mark.to;
  }
  const Axis axis = axis_of({track}, {Ns(0), Ns(at)}, width);
  for (const features::ShownBlock& block : track.blocks) {
    const Cells cells = axis.cells({block.start, block.start + block.duration});
    const double wide = static_cast<double>(block.duration.count()) / static_cast<double>(at) * static_cast<double>(width);
    CHECK(cells.end <= width);
    if (!axis.gap) CHECK(std::abs(static_cast<double>(cells.count()) - wide) <= 1.01);
  }
}

TEST_CASE("a block with gaps fills as many cells as it is busy") {
  ShownTrack track = track_of("gpu", {{0, 100, "net"}});
  track.blocks[0].busy = Ns(40);
  track.blocks[0].whole = Ns(80);
  const Picture picture = drawn(track, Ns(100), 100);
  CHECK(picture.lines[kFirstTrack].find("▏net 40 ns of 80 ns") != std::string::npos);
  std::size_t cells = 0;
  for (const Mark& mark : picture.marks) {
    if (mark.what == "forward") cells += format::width(line_of(picture, mark));
  }
  CHECK(cells >= 19 + 31);  // below its label every cell is filled, behind it 4 of 10
  CHECK(cells <= 20 + 34);
}

TEST_CASE("communication has one colour, the chosen block another, and the cursor stands where it begins") {
  const Picture exchange = drawn(track_of("gpu", {{0, 100, "backward", "stage", "backward"}}, "communication"), Ns(100), 40);
  CHECK(exchange.marks.back().what == "communication");
  const Picture chosen = drawn(track_of("cpu", {{0, 50, "漢"}, {50, 50, "b"}}), Ns(100), 40, Chosen{.track = 0, .index = 1});
  const auto selected = std::ranges::find(chosen.marks, "selected", &Mark::what);
  REQUIRE(selected != chosen.marks.end());
  CHECK(line_of(chosen, *selected).starts_with("▏b"));
  REQUIRE(chosen.chosen);
  CHECK(chosen.chosen->line == kFirstTrack);
  CHECK(chosen.chosen->byte == selected->from);
}

TEST_CASE("idle time of a host is named where its name fits, that of a device is dots") {
  const std::vector<Piece> pieces{{0, 50, "a"}, {50, 50, "no operator", "idle"}};
  CHECK(drawn(track_of("cpu", pieces), Ns(100), 40).lines[kFirstTrack].ends_with("·no operator 50 ns" + repeated("·", 2)));
  CHECK(drawn(track_of("cpu", pieces), Ns(100), 36).lines[kFirstTrack].ends_with(repeated("·", 18)));
  CHECK(drawn(track_of("gpu", pieces, "device"), Ns(100), 40).lines[kFirstTrack].ends_with(repeated("·", 20)));
}

TEST_CASE("work of earlier steps is hatched like waiting: it has no colour of its own") {
  const Picture earlier = drawn(track_of("gpu", {{0, 50, "earlier step", "stage", "earlier_step"}, {50, 50, "b"}}), Ns(100), 40);
  CHECK(earlier.lines[kFirstTrack].find("▒earlier step 50 ns▒▏b") != std::string::npos);
}

TEST_CASE("what shares a cell with a block gives it its colour, idle time does not") {
  const Picture work = drawn(track_of("cpu", {{0, 10, "a"}, {10, 10, "b", "module", "loss"}, {20, 9980, "c"}}), Ns(10'000), 40);
  CHECK(work.lines[kFirstTrack].find("▏c") != std::string::npos);
  const Picture idle = drawn(track_of("cpu", {{0, 9990, "a"}, {9990, 10, "", "idle"}}), Ns(10'000), 40);
  CHECK(idle.lines[kFirstTrack].find("·") == std::string::npos);
}

TEST_CASE("a gap is drawn short, with its time") {
  Picture picture;
  draw(picture, late_level(), std::nullopt);
  CHECK(picture.lines[1].find("⟨800 µs⟩") != std::string::npos);
  CHECK(picture.lines[2].ends_with(repeated("┈", 10) + std::string(40, ' ')));
  CHECK(picture.lines[4] == std::string(kNameColumns, ' ') + "800 µs without work of this block, drawn short");
}

TEST_CASE("tracks that are left out are counted") {
  Picture picture;
  ShownLevel level = late_level();
  level.more_tracks = 3;
  draw(picture, level, std::nullopt);
  CHECK(picture.lines[4].ends_with("3 more tracks, less busy than these"));
}

TEST_CASE("pieces of one block less than two cells apart are one run, others are not") {
  const ShownTrack track = track_of("gpu", {{0, 5, "a"}, {12, 5, "a"}, {24, 5, "a"}, {30, 5, "b"}, {100, 5, "b"}, {106, 5, "", "idle"}});
  std::vector<features::ShownBlock> pieces = track.blocks;
  for (features::ShownBlock& piece : pieces) piece.label = piece.segment == "a" ? 0 : 3;
  const std::vector<features::ShownBlock> runs = runs_of(pieces, Ns(10));
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].duration == Ns(29));
  CHECK(runs[0].busy == Ns(15));
  CHECK(runs[0].spans == 3);
  CHECK(runs[1].start == Ns(30));
  CHECK(runs[2].start == Ns(100));
}
