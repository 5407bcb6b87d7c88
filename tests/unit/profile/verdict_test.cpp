#include "annotator/profile/verdict.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

// A profile of one step of 1000 ns; the device is busy for `busy`, the rest as given.
Profile of(std::int64_t busy, std::initializer_list<std::pair<Bucket, std::int64_t>> wall, std::int64_t communication = 0) {
  Profile profile;
  profile.steps.push_back({.wall = Ns{1000}, .device = Ns{busy}});
  for (const auto& [bucket, time] : wall) profile.buckets.push_back({bucket, {Ns{time}}, {Ns{}}});
  if (communication > 0) profile.buckets.push_back({Bucket::communication, {Ns{}}, {Ns{communication}}});
  return profile;
}

}  // namespace

TEST_CASE("the verdict names what takes a third of the step or starves the device") {
  CHECK(judge(of(0, {{Bucket::data_loading, 900}, {Bucket::forward, 100}})).kind == "data");
  CHECK(judge(of(0, {{Bucket::data_loading, 100}, {Bucket::forward, 400}, {Bucket::backward, 400}})).kind == "compute");
  CHECK(judge(of(0, {{Bucket::host, 600}, {Bucket::forward, 400}})).kind == "unclear");
  CHECK(judge(of(950, {{Bucket::forward, 300}, {Bucket::waiting, 500}})).kind == "compute");
  CHECK(judge(of(950, {{Bucket::forward, 300}}, 600)).kind == "communication");
  CHECK(judge(of(200, {{Bucket::forward, 900}, {Bucket::host, 100}})).kind == "launch");
  CHECK(judge(of(300, {{Bucket::waiting, 500}, {Bucket::forward, 400}})).kind == "sync");
  CHECK(judge(of(300, {{Bucket::data_loading, 600}, {Bucket::forward, 400}})).kind == "data");
}

TEST_CASE("evidence is there, the largest first") {
  const Verdict verdict = judge(of(200, {{Bucket::forward, 900}, {Bucket::host, 100}}));
  REQUIRE(verdict.evidence.size() >= 3);
  CHECK(verdict.evidence[0].what == "forward operators");
  CHECK(verdict.evidence[1].what == "device idle");
  CHECK(verdict.evidence[1].time == Ns{800});
}

TEST_CASE("a profile without steps has no verdict") {
  CHECK(judge(Profile{}).kind == "unclear");
}
