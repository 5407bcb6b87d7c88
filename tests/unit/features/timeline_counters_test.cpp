#include "server/features/timeline/counters.h"

#include <algorithm>

#include "annotator/costs/launches.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::features;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

// What is held at a moment, found one change after the other.
std::int64_t held_at(const Counter& counter, Ns when) {
  std::int64_t held = counter.before;
  for (std::size_t at = 0; at < counter.time.size() && counter.time[at] <= when; ++at) held = counter.value[at];
  return held;
}

}  // namespace

TEST_CASE("work is queued from the begin of its launch until it runs") {
  Script script;
  script.range("ProfilerStep#0", 0, 400).op("aten::mm", 0, 100).launch(1, 0, 10).launch(2, 20, 10);
  script.kernel("a", 1, 100, 100).kernel("b", 2, 220, 80);
  const auto counter = queue_counter(annotated_of(script)->account, 0);
  REQUIRE(counter);
  CHECK(counter->time == std::vector{us(0), us(20), us(100), us(220)});
  CHECK(counter->value == std::vector<std::int64_t>{1, 2, 1, 0});
  CHECK(counter->peak().value == 2);
  CHECK(counter->peak().time == us(20));
}

TEST_CASE("a step without device work has no queue") {
  CHECK_FALSE(queue_counter(annotated_of(Script().range("ProfilerStep#0", 0, 100).op("aten::mm", 0, 50))->account, 0).has_value());
}

TEST_CASE("random steps: the queue's mean is that of the launch statistics, and a look at it tells least and most of every moment") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 40)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const auto annotated = annotated_of(random.draw());
  const auto counter = queue_counter(annotated->account, 0);
  const auto launches = costs::launches(annotated->trace, annotated->forest, annotated->account, 0);
  REQUIRE(counter.has_value() == launches.has_value());
  if (!counter) return;
  CHECK(counter->mean() == Approx(launches->queued_mean));
  CHECK(std::ranges::min(counter->value) >= 0);
  const Ns from(random.between(0, counter->length.count() - 2)), to(random.between(from.count() + 1, counter->length.count()));
  const Ns pixel = std::max(Ns(1), (to - from) / random.between(1, 200));
  const CounterView view = look(*counter, from, to, pixel);
  CHECK(view.start.front() == from);
  CHECK(std::ranges::is_sorted(view.start));
  CHECK(view.start.size() <= static_cast<std::size_t>(2 * ((to - from) / pixel) + 4));
  for (int probe = 0; probe < 50; ++probe) {
    const Ns when(random.between(from.count(), to.count() - 1));
    const auto at = static_cast<std::size_t>(std::ranges::upper_bound(view.start, when) - view.start.begin()) - 1;
    const std::int64_t held = held_at(*counter, when);
    CHECK(view.least[at] <= held);
    CHECK(view.most[at] >= held);
  }
}

TEST_CASE("a change alone in its pixel is told to the nanosecond, several as their least and most") {
  const Counter counter{.time = {us(10), us(50), us(51), us(52)}, .value = {5, 9, 2, 7}, .before = 3, .length = us(100)};
  const CounterView view = look(counter, us(0), us(100), us(10));
  CHECK(view.start == std::vector{us(0), us(10), us(50), us(60)});
  CHECK(view.least == std::vector<std::int64_t>{3, 5, 2, 7});
  CHECK(view.most == std::vector<std::int64_t>{3, 5, 9, 7});
}
