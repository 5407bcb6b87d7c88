#include "annotator/attribution/account/overlay.h"

#include <random>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

Piece piece(int start, int end, Stage stage, bool idle = false) {
  Piece result;
  result.start = Ns{start};
  result.end = Ns{end};
  result.owner.stage = stage;
  result.idle = idle;
  return result;
}

// Who stands at an instant: -1 the main thread at work, 0 nobody, else the stage of the worker's piece and its number.
int at(const std::vector<Piece>& wall, int when) {
  for (const Piece& each : wall) {
    if (each.start <= Ns{when} && Ns{when} < each.end) return each.lent ? static_cast<int>(each.node) : each.idle ? 0 : -1;
  }
  return -2;
}

}  // namespace

TEST_CASE("workers stand for the main thread where it is idle, cut at its own work") {
  const std::vector<Piece> wall = {piece(0, 10, Stage::other, true), piece(10, 20, Stage::optimizer), piece(20, 30, Stage::other, true)};
  const std::vector<Piece> result = overlaid(wall, {{piece(5, 25, Stage::backward)}});
  REQUIRE(result.size() == 5);
  CHECK(result[1].lent);
  CHECK_FALSE(result[1].idle);
  CHECK(result[1].start == Ns{5});
  CHECK(result[1].end == Ns{10});
  CHECK(result[2].owner.stage == Stage::optimizer);
  CHECK(result[3].end == Ns{25});
  CHECK(result[4].idle);
}

TEST_CASE("what a worker does for neither forward nor backward stands for nobody") {
  const std::vector<Piece> wall = {piece(0, 10, Stage::other, true)};
  const std::vector<Piece> result = overlaid(wall, {{piece(2, 4, Stage::data)}});
  REQUIRE(result.size() == 1);
  CHECK(result.front().idle);
}

// Against the rule itself, told instant by instant.
TEST_CASE("of several workers at once the first one stands there, at every instant") {
  const unsigned seed = GENERATE(range(1U, 60U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto partition = [&](bool main, int worker) {
    std::vector<Piece> pieces;
    for (int start = static_cast<int>(random() % 5), end = 0; start < 100; start = end) {
      end = start + 1 + static_cast<int>(random() % 20);
      if (!main && random() % 3 == 0) continue;
      pieces.push_back(piece(start, end, random() % 4 > 0 ? Stage::backward : Stage::data, main && random() % 2 == 0));
      pieces.back().node = static_cast<std::uint32_t>(worker * 1000 + start + 1);
    }
    return pieces;
  };
  const std::vector<Piece> wall = partition(true, 0);
  std::vector<std::vector<Piece>> workers;
  for (int worker = 1; worker <= 4; ++worker) workers.push_back(partition(false, worker));
  const std::vector<Piece> result = overlaid(wall, workers);
  for (std::size_t i = 0; i + 1 < result.size(); ++i) CHECK(result[i].end == result[i + 1].start);
  for (auto when = static_cast<int>(wall.front().start.count()); when < wall.back().end.count(); ++when) {
    int expected = at(wall, when);
    for (std::size_t worker = 0; worker < workers.size() && expected == 0; ++worker) {
      for (const Piece& each : workers[worker]) {
        if (each.owner.stage == Stage::backward && each.start <= Ns{when} && Ns{when} < each.end) expected = static_cast<int>(each.node);
      }
    }
    CHECK(at(result, when) == expected);
  }
}
