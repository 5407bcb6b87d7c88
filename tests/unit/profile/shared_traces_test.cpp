// Sums that must hold on any trace: on those that the tests record themselves, and on real ones where HOTLENS_TRACES names their folder.
#include "annotator/profile/build/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

struct Seen {
  std::size_t read = 0, with_memory = 0;
  Ns known{}, device{};    // device time of a known family of kernels, and all
  double least_known = 1;  // of any trace
};

void check_steps(const Profile& profile) {
  for (std::size_t step = 0; step < profile.steps.size(); ++step) {
    Ns wall{}, device{}, stages{};
    for (const BucketTimes& bucket : profile.buckets) {
      wall += bucket.wall[step];
      device += bucket.device[step];
    }
    for (const StageTimes& stage : profile.stages) stages += stage.wall[step];
    CHECK(wall == profile.steps[step].wall);
    CHECK(device == profile.steps[step].device);
    CHECK(stages == profile.steps[step].wall);
    CHECK(profile.steps[step].exposed_communication <= profile.steps[step].communication);
    for (const Module& module : profile.modules) {
      for (const PerStep* times : {&module.forward, &module.backward}) {
        CHECK((*times)[step].cpu_self <= (*times)[step].cpu_total);
        CHECK((*times)[step].device <= (*times)[step].span);
        CHECK((*times)[step].waiting <= (*times)[step].cpu_total);
      }
    }
  }
}

void check_causes(const Profile& profile) {
  for (const Causes* causes : {&profile.spent, &profile.critical}) {
    Ns sum{};
    for (const Ns time : *causes) sum += time;
    CHECK(sum == profile.steps[profile.representative].wall);
  }
}

// What was held at the peak is the peak: a trace alone knows of nothing that its allocator did not count.
void check_memory(const Profile& profile) {
  CHECK(profile.at_peak.total == *profile.memory_peak);
  CHECK(sum(held_at_peak(profile)) + profile.at_peak.before == profile.at_peak.total);
  CHECK(count(profile.at_peak.before) >= 0);
}

void count_families(const Profile& profile, Seen& seen) {
  Ns known{}, whole{};
  for (const KernelUse& use : profile.kernel_times) {
    whole += use.time;
    if (profile.kernels[use.kernel.index].parts.family != kernels::Family::other) known += use.time;
  }
  seen.known += known;
  seen.device += whole;
  if (whole > Ns{}) seen.least_known = std::min(seen.least_known, static_cast<double>(known.count()) / static_cast<double>(whole.count()));
}

Seen check_all(const std::vector<std::filesystem::path>& files) {
  Seen seen;
  for (const std::filesystem::path& file : files) {
    CAPTURE(file);
    const auto loaded = load(file);
    REQUIRE(loaded.has_value());
    const Profile& profile = **loaded;
    ++seen.read;
    check_steps(profile);
    check_causes(profile);
    count_families(profile, seen);
    if (!profile.memory_peak) continue;
    check_memory(profile);
    ++seen.with_memory;
  }
  return seen;
}

}  // namespace

TEST_CASE("in every real trace buckets add up to the step and modules stay below the device's time") {
  const auto files = tests::traces(tests::kReal, "sums over real traces are not checked");
  if (files.empty()) return;
  const Seen seen = check_all(files);
  CHECK(seen.with_memory > 0);
  CHECK(seen.least_known >= 0.94);
  CHECK(seen.known.count() * 100 >= seen.device.count() * 98);
}

TEST_CASE("in traces of the tests' own buckets add up to the step and modules stay below the device's time") {
  const auto files = tests::traces(tests::kOwn, "sums over traces of the tests' own are not checked");
  if (files.empty()) return;
  const Seen seen = check_all(files);
  CHECK(seen.read == 4);
  CHECK(seen.with_memory > 0);
}
