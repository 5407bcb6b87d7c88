#include "tests/unit/catch.h"
#include "tests/unit/ranks/records.h"

namespace hotlens::ranks {
namespace {

RankSet of_skew(std::int64_t ahead) {
  Story first(0), second(1, ahead);
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t at = step * 10000;
    first.step(step, at, at + 10000).collective(at + 2000, at + 9000 + step);
    second.step(step, at, at + 10000).collective(at + 8900, at + 9000);
  }
  return together({first, second});
}

TEST_CASE("a clock that is ahead is found by the ends of collectives and corrected") {
  for (const std::int64_t ahead : {5'000'000, -700, 300}) {
    const RankSet set = of_skew(ahead);
    CHECK(set.ranks[1].clock.ahead == us(ahead - 2));  // the first one's ends are 0 to 4 µs later
    CHECK(set.ranks[1].clock.spread <= us(2));
    CHECK(set.ranks[1].clock.count == 5);
    CHECK(set.ranks[0].waiting[2] == us(6902));
  }
}

TEST_CASE("a difference that waking up or the transfer explains is no skew") {
  for (const std::int64_t ahead : {0, 90, -150}) CHECK(of_skew(ahead).ranks[1].clock.ahead == Ns{});
}

TEST_CASE("a rank that shares no collective with the first is reached through another") {
  const RankSet set =
      together({Story(0).step(0, 0, 100'000).collective(100, 200, "all_reduce", "a"),
                Story(1, 5000).step(0, 0, 100'000).collective(150, 200, "all_reduce", "a").collective(300, 400, "all_reduce", "b"),
                Story(2, 9000).step(0, 0, 100'000).collective(350, 400, "all_reduce", "b")});
  CHECK(set.ranks[1].clock.ahead == us(5000));
  CHECK(set.ranks[2].clock.ahead == us(9000));
}

TEST_CASE("the ends of broadcasts say nothing of clocks") {
  const RankSet set = together(
      {Story(0).step(0, 0, 1000).collective(100, 200, "broadcast"), Story(1, 5000).step(0, 0, 1000).collective(150, 300, "broadcast")});
  CHECK(set.ranks[1].clock.count == 0);
}

}  // namespace
}  // namespace hotlens::ranks
