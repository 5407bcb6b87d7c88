#include "server/text/axis.h"

#include <cmath>

#include "tests/unit/catch.h"
#include "tests/unit/text/fixture.h"

using namespace hotlens;
using namespace hotlens::text;

TEST_CASE("a long time before a late device is a gap, a short one is not") {
  const Axis late = late_level().axis;
  REQUIRE(late.gap);
  CHECK(*late.gap == Moments{Ns(100'000), Ns(900'000)});
  const Cells host = late.cells({Ns(0), Ns(100'000)}), device = late.cells({Ns(900'000), Ns(1'000'000)});
  CHECK(host.first == 0);
  CHECK(host.end == 40);
  CHECK(device.first == 50);
  CHECK(device.end == 90);
  CHECK(late.fine_width() == 400);
  CHECK_FALSE(axis_of({track_of("cpu", {{0, 40, "a"}, {60, 40, "b"}})}, {Ns(0), Ns(100)}, 90).gap);
  CHECK(axis_of({track_of("cpu", {{0, 30, "a"}, {70, 30, "b"}})}, {Ns(0), Ns(100)}, 90).gap);
  CHECK_FALSE(axis_of({track_of("cpu", {{0, 30, "a"}, {70, 30, "b"}})}, {Ns(0), Ns(100)}, 20).gap);  // as narrow as its time
}

TEST_CASE("idle time of a host is its own, that of a device is part of the gap") {
  const std::vector<Piece> pieces{{0, 20, "a"}, {20, 60, "", "idle", "idle"}, {80, 20, "b"}};
  CHECK_FALSE(axis_of({track_of("cpu", pieces)}, {Ns(0), Ns(100)}, 90).gap);
  CHECK(axis_of({track_of("gpu", pieces, "device")}, {Ns(0), Ns(100)}, 90).gap);
}

TEST_CASE("time and cells lead to one another, with a gap and without") {
  Axis axis = late_level().axis;
  for (const bool gap : {true, false}) {
    if (!gap) axis.gap.reset();
    Ns before(-1);
    for (double cell = 0; cell <= 90; cell += 0.5) {
      const Ns at = axis.time_at(cell);
      CAPTURE(gap, cell);
      CHECK(std::abs(axis.position(at) - cell) < 1e-3);
      CHECK(at > before);
      before = at;
    }
  }
}
