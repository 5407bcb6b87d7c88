#include "server/text/words.h"

#include "server/text/foot.h"
#include "tests/unit/catch.h"
#include "tests/unit/text/fixture.h"

using namespace hotlens;
using namespace hotlens::text;
using features::Use;

TEST_CASE("differences have a sign and a share of what was before") {
  CHECK(signed_time(Ns(1'200'000)) == "+1.20 ms");
  CHECK(signed_time(Ns(-30'000)) == "-30.0 µs");
  CHECK(difference(Ns(31'000), Ns(22'800)) == "-8.20 µs (-26 %)");
  CHECK(difference(Ns(10'000), Ns(10'980)) == "+980 ns (+9.8 %)");
  CHECK(difference(Ns(0), Ns(300)) == "+300 ns");
}

TEST_CASE("a block says its time, how much of it is drawn, and how much of it is waiting") {
  features::ShownBlock block{.duration = Ns(100), .kind = "module", .stage = "forward", .busy = Ns(100), .whole = Ns(100)};
  CHECK(busy_of(block) == "100 ns");
  block.whole = Ns(400);
  CHECK(busy_of(block) == "100 ns of 400 ns");
  block.waiting = Ns(40);
  CHECK(busy_of(block) == "100 ns of 400 ns, 40 ns waiting");
  block.waiting = Ns(10);
  CHECK(busy_of(block) == "100 ns of 400 ns");
  block.waiting = Ns(100);
  CHECK(busy_of(block) == "100 ns of 400 ns, all waiting");
  block.kind = "wait";
  CHECK(busy_of(block) == "100 ns of 400 ns");
}

TEST_CASE("the chosen block is told with its share, beyond the whole as how often it fits") {
  features::ShownTrack track = track_of("CPU main", {{0, 50, "conv1"}});
  CHECK(chosen_line(track, track.blocks[0], Ns(100), "step") == "▸ conv1 · module · 50 ns · 50.0 % of the step · CPU main");
  CHECK(chosen_line(track, track.blocks[0], Ns(40), "recording") == "▸ conv1 · module · 50 ns · as long as 1.25 recordings · CPU main");
  track.blocks[0].kind = "merged";
  track.blocks[0].count = 7;
  CHECK(chosen_line(track, track.blocks[0], Ns(0), "step") == "▸ 7 blocks, the largest conv1 · merged · 50 ns · CPU main");
}

TEST_CASE("what ran in a window is told by names that a line can tell apart, the longest first, the others together") {
  features::RangeSums sums{.device = Ns(5000)};
  for (int at = 1; at <= 6; ++at) sums.operators.push_back({.name = "aten::k" + std::to_string(at), .calls = at, .time = Ns(1000)});
  sums.operators.push_back({.name = "k2", .calls = 1, .time = Ns(1)});
  CHECK(lines_of(sums, {Ns(1000), Ns(11'000)}) ==
        std::vector<std::string>{"Σ 10.0 µs, from 1.00 µs to 11.0 µs, the device busy for 5.00 µs (50 %)",
                                 "  operators: k2 ×3 1.00 µs · k1 ×1 1.00 µs · k3 ×3 1.00 µs · k4 ×4 1.00 µs · 2 more 2.00 µs"});
}
