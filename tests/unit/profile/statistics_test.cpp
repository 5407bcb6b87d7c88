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

TEST_CASE("the step that is shown is no outlier and like the others in every bucket and stage, not in its wall time alone") {
  Profile profile;
  CHECK(representative(profile) == 0);
  profile.steps = steps_of({1000, 1000, 990, 1600, 1010});
  mark_outliers(profile.steps);
  // The first two have the median wall time, but one waits in the loader and is quick elsewhere, the other the other way round.
  profile.buckets.push_back({Bucket::data_loading, {Ns{300}, Ns{20}, Ns{100}, Ns{100}, Ns{105}}, {Ns{}, Ns{}, Ns{}, Ns{}, Ns{}}});
  profile.buckets.push_back({Bucket::forward, {Ns{700}, Ns{980}, Ns{890}, Ns{900}, Ns{905}}, {Ns{}, Ns{}, Ns{}, Ns{}, Ns{}}});
  CHECK(representative(profile) == 2);
}

TEST_CASE("the spread is what numpy's percentile gives") {
  const Spread one = spread({Ns{7}});
  CHECK(one.p10 == Ns{7});
  CHECK(one.p90 == Ns{7});
  const Spread five = spread({Ns{50}, Ns{10}, Ns{40}, Ns{20}, Ns{30}});
  CHECK(five.p10 == Ns{14});
  CHECK(five.median == Ns{30});
  CHECK(five.p90 == Ns{46});
  CHECK(spread({}).p90 == Ns{});
}

TEST_CASE("an outlier's excess is explained by buckets, and by the innermost module that holds half of it") {
  Profile profile;
  profile.steps = steps_of({1000, 1000, 1000, 1600});
  profile.buckets.push_back({Bucket::forward, {Ns{500}, Ns{500}, Ns{500}, Ns{1000}}, {}});
  profile.buckets.push_back({Bucket::data_loading, {Ns{100}, Ns{100}, Ns{100}, Ns{200}}, {}});
  profile.buckets.push_back({Bucket::host, {Ns{400}, Ns{400}, Ns{400}, Ns{400}}, {}});
  const auto add = [&](const char* path, ModuleId parent, std::int64_t usual, std::int64_t last) {
    Module module{.path = path, .class_name = "M", .parent = parent};
    for (const std::int64_t time : {usual, usual, usual, last}) {
      module.forward.push_back({.cpu_total = Ns{time}});
      module.backward.push_back({});
    }
    profile.modules.push_back(module);
  };
  add("", {}, 500, 1000);
  add("a", ModuleId{0}, 200, 210);
  add("b", ModuleId{0}, 200, 650);
  add("b.c", ModuleId{2}, 50, 60);
  const std::vector<Difference> found = Differences(profile).of(3);
  REQUIRE(found.size() == 2);
  CHECK(found[0].what == "bucket forward");
  CHECK(found[0].excess == Ns{500});
  CHECK(found[1].what == "module b");
  CHECK(found[1].excess == Ns{450});
}

TEST_CASE("a step with twice the communication is an outlier at the same wall time, and says so") {
  Profile profile;
  profile.steps = steps_of({1000, 1000, 1000, 1000, 1000});
  for (Step& step : profile.steps) step.communication = Ns{100};
  profile.steps[1].communication = Ns{199};
  profile.steps[2].communication = Ns{200};
  mark_outliers(profile.steps);
  CHECK_FALSE(profile.steps[0].outlier);
  CHECK_FALSE(profile.steps[1].outlier);
  CHECK(profile.steps[2].outlier);
  const std::vector<Difference> found = Differences(profile).of(2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "communication on the device");
  CHECK(found[0].excess == Ns{100});
  // Little of the step: twice of next to nothing is no difference.
  for (Step& step : profile.steps) step.communication = Ns{10};
  profile.steps[3].communication = Ns{30};
  mark_outliers(profile.steps);
  CHECK_FALSE(profile.steps[3].outlier);
}

TEST_CASE("what hardly adds to an outlier's excess is not named, even where nothing explains the excess") {
  Profile profile;
  profile.steps = steps_of({1000, 1000, 1000, 1600});
  profile.buckets.push_back({Bucket::forward, {Ns{500}, Ns{500}, Ns{500}, Ns{600}}, {}});
  profile.buckets.push_back({Bucket::loss, {Ns{10}, Ns{10}, Ns{10}, Ns{12}}, {}});
  const std::vector<Difference> found = Differences(profile).of(3);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "bucket forward");
}
