#include "annotator/causes/verdict_line.h"

#include "annotator/profile/loop.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using causes::line_of_verdict;
using profile::Cause;
using profile::FileId;

namespace {

constexpr FileId kOwn{0}, kInstalled{1};

profile::Profile of(std::string kind) {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1000}});
  profile.files = {{.path = "/work/train.py", .workspace = true}, {.path = "/lib/torch/nn.py", .workspace = false}};
  profile.verdict.kind = std::move(kind);
  return profile;
}

void add_line(profile::Profile& profile, FileId file, std::uint32_t line, Cause cause, std::int64_t time) {
  profile.lines.push_back({.file = file, .line = line});
  profile.lines.back().spent[static_cast<std::size_t>(cause)] = Ns{time};
}

void add_fetch(profile::Profile& profile, FileId file, std::uint32_t line, std::int64_t wall) {
  profile.stage_sites.push_back({.site = {.file = file, .line = line}, .stage = profile::Stage::data, .wall = {Ns{wall}}});
}

// Of line and time, or 0 and 0.
std::pair<std::uint32_t, std::int64_t> found(const profile::Profile& profile) {
  const auto line = line_of_verdict(profile);
  return line ? std::pair(line->line, line->time.count()) : std::pair(0U, std::int64_t{0});
}

}  // namespace

TEST_CASE("launches have the innermost line of the workspace that most of them are issued from") {
  profile::Profile profile = of("launch");
  profile.spent[static_cast<std::size_t>(Cause::launch)] = Ns{600};
  add_line(profile, kOwn, 30, Cause::launch, 590);
  add_line(profile, kOwn, 12, Cause::launch, 301);
  add_line(profile, kOwn, 13, Cause::launch, 300);  // no more than half
  add_line(profile, kInstalled, 99, Cause::launch, 301);
  add_line(profile, kOwn, 14, Cause::compute, 400);
  CHECK(found(profile) == std::pair(12U, std::int64_t{301}));
  CHECK(line_of_verdict(profile)->whole == Ns{600});
}

TEST_CASE("a cause that is spread over many lines has none, nor has one in code that was installed") {
  for (const auto& [kind, cause] :
       {std::pair("launch", Cause::launch), std::pair("copy", Cause::copy), std::pair("communication", Cause::communication)}) {
    profile::Profile profile = of(kind);
    profile.spent[static_cast<std::size_t>(cause)] = Ns{600};
    add_line(profile, kOwn, 12, cause, 300);
    add_line(profile, kInstalled, 99, cause, 600);
    CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
    add_line(profile, kOwn, 15, cause, 400);
    CHECK(found(profile) == std::pair(15U, std::int64_t{400}));
    profile.guessed = true;
    CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
  }
}

TEST_CASE("waiting has the line in which the host waits most") {
  profile::Profile profile = of("sync");
  profile.buckets.push_back({profile::Bucket::waiting, {Ns{500}}, {Ns{}}});
  profile.lines.push_back({.file = kOwn, .line = 20, .forward = {{.cpu_total = Ns{900}, .waiting = Ns{480}}}, .backward = {{}}});
  profile.lines.push_back({.file = kOwn, .line = 7, .forward = {{.cpu_total = Ns{460}, .waiting = Ns{450}}}, .backward = {{}}});
  CHECK(found(profile) == std::pair(7U, std::int64_t{450}));
  profile.verdict.kind = "compute";
  CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
}

TEST_CASE("loading has the line of the loop that gets most of the batches") {
  profile::Profile profile = of("data");
  profile.stages.push_back({.stage = profile::Stage::data, .wall = {Ns{700}}});
  add_fetch(profile, kOwn, 40, 100);
  add_fetch(profile, kInstalled, 3, 700);
  CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
  add_fetch(profile, kOwn, 41, 400);
  CHECK(found(profile) == std::pair(41U, std::int64_t{400}));
  profile.stage_sites.back().counted_at = 0;
  CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
}

TEST_CASE("where most of an update comes now and then the step's verdict has no line") {
  profile::Profile profile = of("data");
  profile.stages.push_back({.stage = profile::Stage::data, .wall = {Ns{700}}});
  add_fetch(profile, kOwn, 41, 700);
  profile.loop = std::make_shared<profile::Loop>(profile::Loop{.updates = 10, .made = 10, .watched = Ns{10'000}, .rare = Ns{4'900}});
  CHECK(found(profile) == std::pair(41U, std::int64_t{700}));
  profile.loop = std::make_shared<profile::Loop>(profile::Loop{.updates = 10, .made = 10, .watched = Ns{10'000}, .rare = Ns{5'000}});
  CHECK(found(profile) == std::pair(0U, std::int64_t{0}));
}
