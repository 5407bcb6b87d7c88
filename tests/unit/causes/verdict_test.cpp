#include "annotator/causes/verdict.h"

#include <array>

#include "annotator/causes/cause_table.h"
#include "annotator/common/file.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using causes::judge;
using causes::place_of;
using namespace hotlens::profile;

namespace {

using Parts = std::initializer_list<std::pair<profile::Cause, std::int64_t>>;

profile::Causes causes_of(Parts parts) {
  profile::Causes result{};
  for (const auto& [cause, time] : parts) result[static_cast<std::size_t>(cause)] = Ns{time};
  return result;
}

// A step of 1000 ns with this critical path; the host waits for `waiting` of it; on a device where `device` is given.
profile::Profile of(Parts parts, std::int64_t device = 0, std::int64_t waiting = 0) {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1000}, .device = Ns{device}});
  profile.buckets.push_back({Bucket::waiting, {Ns{waiting}}, {Ns{}}});
  profile.spent = profile.critical = causes_of(parts);
  return profile;
}

}  // namespace

TEST_CASE("the verdict is the cause that holds most of the critical path") {
  CHECK(judge(of({{profile::Cause::data, 900}, {profile::Cause::compute, 100}})).kind == "data");
  CHECK(judge(of({{profile::Cause::data, 100}, {profile::Cause::compute, 800}, {profile::Cause::launch, 100}})).kind == "compute");
  CHECK(judge(of({{profile::Cause::memory, 700}, {profile::Cause::compute, 200}, {profile::Cause::launch, 100}})).kind == "memory");
  CHECK(judge(of({{profile::Cause::launch, 700}, {profile::Cause::compute, 300}}, 300)).kind == "launch");
  CHECK(judge(of({{profile::Cause::copy, 600}, {profile::Cause::compute, 400}}, 900)).kind == "copy");
  CHECK(judge(of({{profile::Cause::communication, 600}, {profile::Cause::compute, 400}}, 900)).kind == "communication");
  CHECK(judge(of({{profile::Cause::host, 600}, {profile::Cause::compute, 400}})).kind == "unclear");
  CHECK(judge(of({{profile::Cause::host, 600}, {profile::Cause::compute, 400}}, 400)).kind == "unclear");
}

TEST_CASE("nothing is claimed where two causes are alike or none is a third") {
  CHECK(judge(of({{profile::Cause::data, 360}, {profile::Cause::compute, 340}, {profile::Cause::launch, 300}})).kind == "unclear");
  CHECK(judge(of({{profile::Cause::data, 300}, {profile::Cause::compute, 250}, {profile::Cause::launch, 250}, {profile::Cause::copy, 200}}))
            .kind == "unclear");
  CHECK(judge(of({{profile::Cause::memory, 460}, {profile::Cause::compute, 480}})).kind == "unclear");
  CHECK(judge(profile::Profile{}).kind == "unclear");
}

TEST_CASE("a busy device is no cause while the host never waits for it: what starves it is") {
  profile::Profile profile = of({{profile::Cause::data, 390}, {profile::Cause::launch, 610}}, 570);
  profile.spent = causes_of({{profile::Cause::data, 380}, {profile::Cause::launch, 50}, {profile::Cause::compute, 570}});
  CHECK(judge(profile).kind == "data");
  profile.spent = causes_of({{profile::Cause::data, 20}, {profile::Cause::launch, 30}, {profile::Cause::compute, 950}});
  profile.critical = causes_of({{profile::Cause::launch, 600}, {profile::Cause::compute, 400}});
  CHECK(judge(profile).kind == "compute");
}

TEST_CASE("a synchronisation answers for the launches that it drained, up to the time it waited") {
  const profile::Profile drained = of({{profile::Cause::launch, 550}, {profile::Cause::compute, 450}}, 450, 500);
  CHECK(judge(drained).kind == "sync");
  CHECK(judge(of({{profile::Cause::launch, 950}, {profile::Cause::compute, 50}}, 50, 50)).kind == "launch");
  CHECK(judge(of({{profile::Cause::launch, 200}, {profile::Cause::compute, 800}}, 800, 600)).kind == "compute");
  const std::vector<profile::Verdict::Evidence> evidence = judge(drained).evidence;
  REQUIRE(evidence.size() == 3);
  CHECK(evidence[0].what == "host waits while the device works");
  CHECK(evidence[0].time == Ns{500});
  CHECK(evidence[1].what == "device idle, waiting for launches");
  CHECK(evidence[1].time == Ns{550});  // none of it was idle time during the synchronisation
  CHECK(evidence[2].time == Ns{450});
}

TEST_CASE("evidence is sorted, and names the innermost module that holds most of a cause") {
  profile::Profile profile = of({{profile::Cause::compute, 800}, {profile::Cause::launch, 200}});
  profile.modules.push_back({.path = "",
                             .class_name = "Net",
                             .children = {profile::ModuleId{1}, profile::ModuleId{2}},
                             .spent = causes_of({{profile::Cause::compute, 790}})});
  profile.modules.push_back(
      {.path = "a", .class_name = "Linear", .parent = profile::ModuleId{0}, .spent = causes_of({{profile::Cause::compute, 90}})});
  profile.modules.push_back(
      {.path = "b", .class_name = "Linear", .parent = profile::ModuleId{0}, .spent = causes_of({{profile::Cause::compute, 700}})});
  const profile::Verdict verdict = judge(profile);
  REQUIRE(verdict.evidence.size() == 2);
  CHECK(verdict.evidence[0].time == Ns{800});
  CHECK(verdict.evidence[0].where == "b");
  CHECK(verdict.evidence[1].where.empty());
}

TEST_CASE("host code names the line of the user's own that holds most of it") {
  profile::Profile profile = of({{profile::Cause::host, 900}, {profile::Cause::compute, 100}});
  profile.files = {{.path = "/work/train.py", .workspace = true}};
  for (const std::int64_t time : {450, 500}) {
    profile.lines.push_back({.file = FileId{0}, .line = static_cast<std::uint32_t>(time)});
    profile.lines.back().spent = causes_of({{profile::Cause::host, time}});
  }
  CHECK(judge(profile).evidence.at(0).where == "/work/train.py:501");
  profile.lines.pop_back();  // half is not most
  CHECK(judge(profile).evidence.at(0).where.empty());
}

TEST_CASE("a module is judged by its own part of the path") {
  profile::Profile profile = of({{profile::Cause::compute, 800}, {profile::Cause::launch, 200}}, 800);
  profile.modules.push_back({.path = "slow",
                             .class_name = "Loop",
                             .spent = causes_of({{profile::Cause::launch, 150}}),
                             .critical = causes_of({{profile::Cause::launch, 150}})});
  profile.modules.push_back({.path = "idle", .class_name = "Identity"});
  CHECK(judge(profile).kind == "compute");
  const auto of_module = [&](std::uint32_t module) { return judge(profile, std::array{profile::ModuleId{module}}); };
  CHECK(of_module(0).kind == "launch");
  CHECK(of_module(1).kind == "unclear");
  CHECK(of_module(1).evidence.empty());
}

TEST_CASE("each cause is defined once, and FORMATS.md says the same") {
  const auto formats = read_file(std::filesystem::path(HOTLENS_SOURCE_DIR) / "annotator/report/FORMATS.md", 1 << 20);
  REQUIRE(formats.has_value());
  for (std::size_t at = 0; at < profile::kCauses; ++at) {
    const causes::CauseRow& row = causes::kCauseTable[at];
    CHECK(static_cast<std::size_t>(row.cause) == at);
    const std::string line = "| `" + std::string(name(row.cause)) + "` | " + std::string(row.definition) + " |";
    CAPTURE(line);
    CHECK(formats->contains(line));
  }
}
