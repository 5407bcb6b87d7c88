// What workers would make of a loop, from its unprofiled times.
#include "annotator/advice/rules/loader_workers.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::rules;
using namespace std::chrono_literals;

namespace {

// Ten updates of 100 ms, of which `fetch` is fetching; processors of which the training has `ours` on average, other programs `others`.
std::optional<Loading> told(Ns fetch, std::int64_t processors, double ours = 1, double others = 0, std::int64_t calls = 10) {
  const auto part = [](double share) { return Ns{std::llround(share * 1e9)}; };
  profile::Loop loop{.updates = 10, .made = 10, .watched = 1s, .startup = {}, .statements = {}, .rare = {}, .processors = {}};
  loop.processors = profile::Processors{.count = processors, .wall = 1s, .ours = part(ours), .others = part(others)};
  return with_workers(loop, {.site = {}, .kind = "for", .calls = calls, .total = 10 * fetch});
}

}  // namespace

TEST_CASE("the longer of computing with handing over, and of fetching by all workers, is the step") {
  const auto hidden = told(40ms, 2);  // one worker hides it all
  REQUIRE(hidden);
  CHECK(hidden->workers == 1);
  CHECK(hidden->step.ratio == Approx(0.63));
  CHECK(hidden->step.low == Approx(0.6));  // never less than all but fetching
  CHECK(hidden->step.high == Approx(0.63 * 1.15));
  CHECK(told(80ms, 2)->step.ratio == Approx(0.8));  // one worker is the limit
  CHECK(told(80ms, 2)->step.low == Approx(0.8 / 1.15));
  CHECK(told(80ms, 4)->workers == 3);
  CHECK(told(80ms, 4)->step.ratio == Approx(0.8 / 3));
  CHECK(told(40ms, 2, 1, 0, 40)->step.ratio == Approx(0.72));  // four batches an update
}

TEST_CASE("workers are as many as processors are free while the training computes") {
  CHECK(told(40ms, 32)->workers == 4);
  CHECK(told(40ms, 4, 1, 1.9)->workers == 1);
  CHECK_FALSE(told(40ms, 2, 1.6));     // it computes on both
  CHECK_FALSE(told(40ms, 2, 1, 0.8));  // others have the second one
  CHECK_FALSE(told(40ms, 1));
  CHECK_FALSE(told(100ms, 2));
  CHECK_FALSE(told(0ms, 2));
}

TEST_CASE("batches that are there sooner than a worker hands one over ask for none") {
  const auto fetch = [](Ns each) { return profile::LoopStatement{.site = {}, .kind = "for", .calls = 10, .total = 10 * each}; };
  CHECK(outlasts_handing_over(fetch(4ms)));
  CHECK_FALSE(outlasts_handing_over(fetch(3ms)));
  CHECK_FALSE(outlasts_handing_over(fetch(200us)));
}
