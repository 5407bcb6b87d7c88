#include "annotator/profile/verdict.h"

#include <array>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

using Parts = std::initializer_list<std::pair<Cause, std::int64_t>>;

Causes causes(Parts parts) {
  Causes result{};
  for (const auto& [cause, time] : parts) result[static_cast<std::size_t>(cause)] = Ns{time};
  return result;
}

// A step of 1000 ns with this critical path; the host waits for `waiting` of it; on a device where `device` is given.
Profile of(Parts parts, std::int64_t device = 0, std::int64_t waiting = 0) {
  Profile profile;
  profile.steps.push_back({.wall = Ns{1000}, .device = Ns{device}});
  profile.buckets.push_back({Bucket::waiting, {Ns{waiting}}, {Ns{}}});
  profile.spent = profile.critical = causes(parts);
  return profile;
}

}  // namespace

TEST_CASE("the verdict is the cause that holds most of the critical path") {
  CHECK(judge(of({{Cause::data, 900}, {Cause::compute, 100}})).kind == "data");
  CHECK(judge(of({{Cause::data, 100}, {Cause::compute, 800}, {Cause::launch, 100}})).kind == "compute");
  CHECK(judge(of({{Cause::memory, 700}, {Cause::compute, 200}, {Cause::launch, 100}})).kind == "memory");
  CHECK(judge(of({{Cause::launch, 700}, {Cause::compute, 300}}, 300)).kind == "launch");
  CHECK(judge(of({{Cause::copy, 600}, {Cause::compute, 400}}, 900)).kind == "copy");
  CHECK(judge(of({{Cause::communication, 600}, {Cause::compute, 400}}, 900)).kind == "communication");
  CHECK(judge(of({{Cause::host, 600}, {Cause::compute, 400}})).kind == "unclear");
  CHECK(judge(of({{Cause::host, 600}, {Cause::compute, 400}}, 400)).kind == "launch");
}

TEST_CASE("nothing is claimed where two causes are alike or none is a third") {
  CHECK(judge(of({{Cause::data, 360}, {Cause::compute, 340}, {Cause::launch, 300}})).kind == "unclear");
  CHECK(judge(of({{Cause::data, 300}, {Cause::compute, 250}, {Cause::launch, 250}, {Cause::copy, 200}})).kind == "unclear");
  CHECK(judge(of({{Cause::memory, 460}, {Cause::compute, 480}})).kind == "unclear");
  CHECK(judge(Profile{}).kind == "unclear");
}

TEST_CASE("a busy device is no cause while the host never waits for it: what starves it is") {
  Profile profile = of({{Cause::data, 390}, {Cause::launch, 610}}, 570);
  profile.spent = causes({{Cause::data, 380}, {Cause::launch, 50}, {Cause::compute, 570}});
  CHECK(judge(profile).kind == "data");
  profile.spent = causes({{Cause::data, 20}, {Cause::launch, 30}, {Cause::compute, 950}});
  profile.critical = causes({{Cause::launch, 600}, {Cause::compute, 400}});
  CHECK(judge(profile).kind == "compute");
}

TEST_CASE("a synchronisation answers for the launches that it drained, up to the time it waited") {
  const Profile drained = of({{Cause::launch, 550}, {Cause::compute, 450}}, 450, 500);
  CHECK(judge(drained).kind == "sync");
  CHECK(judge(of({{Cause::launch, 950}, {Cause::compute, 50}}, 50, 50)).kind == "launch");
  CHECK(judge(of({{Cause::launch, 200}, {Cause::compute, 800}}, 800, 600)).kind == "compute");
  Ns sum{};
  for (const Verdict::Evidence& evidence : judge(drained).evidence) sum += evidence.time;
  CHECK(sum == Ns{1000});
}

TEST_CASE("evidence is sorted, and names the innermost module that holds most of a cause") {
  Profile profile = of({{Cause::compute, 800}, {Cause::launch, 200}});
  profile.modules.push_back(
      {.path = "", .class_name = "Net", .children = {ModuleId{1}, ModuleId{2}}, .spent = causes({{Cause::compute, 790}})});
  profile.modules.push_back({.path = "a", .class_name = "Linear", .parent = ModuleId{0}, .spent = causes({{Cause::compute, 90}})});
  profile.modules.push_back({.path = "b", .class_name = "Linear", .parent = ModuleId{0}, .spent = causes({{Cause::compute, 700}})});
  const Verdict verdict = judge(profile);
  REQUIRE(verdict.evidence.size() == 2);
  CHECK(verdict.evidence[0].time == Ns{800});
  CHECK(verdict.evidence[0].where == "b");
  CHECK(verdict.evidence[1].where.empty());
}

TEST_CASE("a module is judged by its own part of the path") {
  Profile profile = of({{Cause::compute, 800}, {Cause::launch, 200}}, 800);
  profile.modules.push_back(
      {.path = "slow", .class_name = "Loop", .spent = causes({{Cause::launch, 150}}), .critical = causes({{Cause::launch, 150}})});
  profile.modules.push_back({.path = "idle", .class_name = "Identity"});
  CHECK(judge(profile).kind == "compute");
  const auto of_module = [&](std::uint32_t module) { return judge(profile, std::array{ModuleId{module}}); };
  CHECK(of_module(0).kind == "launch");
  CHECK(of_module(1).kind == "unclear");
  CHECK(of_module(1).evidence.empty());
}
