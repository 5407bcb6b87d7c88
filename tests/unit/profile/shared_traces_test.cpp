// Real traces, where the folder that HOTLENS_TRACES names holds them: sums that must hold on any of them.
#include <cstdlib>

#include "annotator/profile/build/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

TEST_CASE("in every real trace buckets add up to the step and modules stay below the device's time") {
  const char* folder = std::getenv("HOTLENS_TRACES");
  if (!folder || !std::filesystem::is_directory(folder)) {
    WARN("HOTLENS_TRACES names no folder: real traces are not read");
    return;
  }
  std::size_t read = 0, with_memory = 0;
  std::pair<Ns, Ns> families{};  // device time of a known family, and all
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find(".json") == std::string::npos) continue;
    CAPTURE(entry.path());
    const auto loaded = load(entry.path());
    REQUIRE(loaded.has_value());
    const Profile& profile = **loaded;
    ++read;
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
    const Ns wall = profile.steps[profile.representative].wall;
    for (const Causes* causes : {&profile.spent, &profile.critical}) {
      Ns sum{};
      for (const Ns time : *causes) sum += time;
      CHECK(sum == wall);
    }
    // What was held at the peak is the peak: a trace alone knows of nothing that its allocator did not count.
    if (profile.memory_peak) {
      CHECK(profile.at_peak.total == *profile.memory_peak);
      CHECK(sum(held_at_peak(profile)) + profile.at_peak.before == profile.at_peak.total);
      CHECK(count(profile.at_peak.before) >= 0);
      ++with_memory;
    }
    // A family for nearly all of the device time.
    Ns known{}, whole{};
    for (const KernelUse& use : profile.kernel_times) {
      whole += use.time;
      if (profile.kernels[use.kernel.index].parts.family != kernels::Family::other) known += use.time;
    }
    if (profile.has_device()) CHECK(known.count() * 100 >= whole.count() * 94);
    families.first += known;
    families.second += whole;
  }
  CHECK(with_memory > 0);
  CHECK(families.first.count() * 100 >= families.second.count() * 98);
  CHECK(read > 0);
}
