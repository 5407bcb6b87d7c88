#include "annotator/profile/build/fit.h"

#include "annotator/profile/loop.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

// What is said of steps with so many operators, of which so many have a twin.
std::string said(const std::vector<attribution::StepFit>& fits, const Loop* loop) {
  attribution::Transfer transfer;
  attribution::Steps steps;
  for (const attribution::StepFit& fit : fits) {
    transfer.steps.push_back(fit);
    steps.spans.push_back({});
    steps.spans.back().index = static_cast<std::int64_t>(steps.spans.size());
  }
  Issues issues;
  report_fit(transfer, steps, Model{}, loop, issues);
  return issues.items().empty() ? "" : issues.items().front().message;
}

constexpr attribution::StepFit kUsual{.operators = 100, .found = 99, .certain = 99};
constexpr attribution::StepFit kMore{.operators = 400, .found = 98, .certain = 98};
constexpr attribution::StepFit kOther{.operators = 100, .found = 20, .certain = 20};

}  // namespace

TEST_CASE("a step with the usual operators and others is said to be unlike the map step where nothing rare is known") {
  const Loop regular{.updates = 10, .made = 10, .watched = Ns{1000}, .startup = {}, .statements = {}};
  for (const Loop* loop : {static_cast<const Loop*>(nullptr), &regular}) {
    CHECK_THAT(said({kUsual, kMore, kUsual}, loop), Catch::StartsWith("step 2 ran other operators than the map step"));
  }
}

TEST_CASE("what is known to come now and then is no fault of the map step; other operators are") {
  const Loop rare{.updates = 10, .made = 10, .watched = Ns{1000}, .startup = {}, .statements = {}, .rare = Ns{400}};
  CHECK(said({kUsual, kMore, kUsual}, &rare).empty());
  CHECK_THAT(said({kUsual, kMore, kOther}, &rare), Catch::StartsWith("step 3 ran other operators than the map step"));
  CHECK_THAT(said({kMore, kMore}, &rare), Catch::StartsWith("steps 1 and 2 ran other operators"));
}
