#include "annotator/profile/statistics.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

std::vector<Step> steps_of(std::initializer_list<std::int64_t> walls) {
  std::vector<Step> steps;
  for (const std::int64_t wall : walls) steps.push_back({.index = std::ssize(steps), .wall = Ns{wall}});
  return steps;
}

}  // namespace

TEST_CASE("the median is the middle, or the mean of the two middle ones") {
  CHECK(median(std::vector<Ns>{}) == Ns{0});
  CHECK(median({Ns{9}, Ns{1}, Ns{5}}) == Ns{5});
  CHECK(median({Ns{9}, Ns{1}, Ns{5}, Ns{6}}) == Ns{5});
  const Times times = median(PerStep{{Ns{1}, Ns{9}, Ns{0}, Ns{2}}, {Ns{3}, Ns{7}, Ns{0}, Ns{8}}, {Ns{2}, Ns{8}, Ns{0}, Ns{4}}});
  CHECK(times.cpu_total == Ns{2});
  CHECK(times.cpu_self == Ns{8});
  CHECK(times.span == Ns{4});
}

TEST_CASE("one slow step among equals is an outlier, and ordinary spread is not") {
  std::vector<Step> slow = steps_of({1000, 1010, 990, 1500, 1005});
  mark_outliers(slow);
  CHECK(slow[3].outlier);
  CHECK_FALSE(slow[0].outlier);
  std::vector<Step> spread = steps_of({1000, 1100, 900, 1150, 950});
  mark_outliers(spread);
  for (const Step& step : spread) CHECK_FALSE(step.outlier);
}

TEST_CASE("the representative step is the one nearest to the median") {
  CHECK(representative(steps_of({1000, 900, 1500, 980, 400})) == 3);
  CHECK(representative({}) == 0);
}
