#include "server/text/walk.h"

#include "tests/unit/catch.h"
#include "tests/unit/text/fixture.h"

using namespace hotlens;
using namespace hotlens::text;

namespace {

Levels two_levels() {
  return {late_level(), level_with({track_of("cpu", {{0, 10, "op"}, {50, 50, "late"}})}, {Ns(0), Ns(100)}, 90)};
}

}  // namespace

TEST_CASE("keys lead over idle time, to the nearest block of the next track, into the next level and no further") {
  const Levels levels = two_levels();
  const auto first = first_in(levels, 0);
  REQUIRE(first == Cursor{0, 0, 0});
  CHECK_FALSE(sideways(levels, *first, Way::on));
  CHECK_FALSE(sideways(levels, *first, Way::back));
  const auto device = updown(levels, *first, Way::on);
  REQUIRE(device == Cursor{0, 1, 1});
  CHECK_FALSE(sideways(levels, *device, Way::back));
  CHECK(end_of(levels, *device, Way::back) == device);
  const auto below = updown(levels, *device, Way::on);
  REQUIRE(below == Cursor{1, 0, 1});
  CHECK_FALSE(updown(levels, *below, Way::on));
  CHECK(updown(levels, *below, Way::back) == Cursor{0, 1, 1});
  CHECK(updown(levels, *device, Way::back) == first);
  CHECK_FALSE(updown(levels, *first, Way::back));
  CHECK(end_of(levels, {1, 0, 0}, Way::on) == Cursor{1, 0, 1});
  CHECK(sideways(levels, {1, 0, 0}, Way::on) == Cursor{1, 0, 1});
  CHECK(first_in(levels, 1, "late") == Cursor{1, 0, 1});
  CHECK_FALSE(first_in(levels, 1, "nobody"));
}

TEST_CASE("the nearest block holds the moment, or begins or ends next to it") {
  const Levels levels = two_levels();
  CHECK(nearest(levels, 1, 0, Ns(9)) == Cursor{1, 0, 0});
  CHECK(nearest(levels, 1, 0, Ns(28)) == Cursor{1, 0, 0});
  CHECK(nearest(levels, 1, 0, Ns(30)) == Cursor{1, 0, 1});
  CHECK(nearest(levels, 1, 0, Ns(50)) == Cursor{1, 0, 1});
  CHECK(nearest(levels, 1, 0, Ns(5000)) == Cursor{1, 0, 1});
}

TEST_CASE("zooming stays within the level, and all of it is no zoom") {
  const ShownLevel level = two_levels()[1];
  CHECK(zoomed(level, Ns(75), 0.25) == Moments{Ns(63), Ns(87)});
  CHECK(zoomed(level, Ns(0), 0.5) == Moments{Ns(0), Ns(25)});
  CHECK_FALSE(zoomed(level, Ns(50), 2));
  CHECK(zoomed(level, Ns(50), 0.0001) == Moments{Ns(40), Ns(60)});
}

TEST_CASE("panning moves the window, keeps its length, and ends where the level does") {
  ShownLevel level = two_levels()[1];
  level.axis.window = {Ns(40), Ns(60)};
  CHECK(panned(level, -0.2) == Moments{Ns(36), Ns(56)});
  CHECK(panned(level, 9) == Moments{Ns(80), Ns(100)});
  CHECK(panned(level, -9) == Moments{Ns(0), Ns(20)});
}
