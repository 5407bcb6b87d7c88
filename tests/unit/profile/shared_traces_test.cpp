// Real traces, where the folder that HOTLENS_TRACES names holds them: sums that must hold on any of them.
#include <cstdlib>

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
  std::size_t read = 0;
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
      for (const Module& module : profile.modules) {
        for (const PerStep* times : {&module.forward, &module.backward}) {
          CHECK((*times)[step].cpu_self <= (*times)[step].cpu_total);
          CHECK((*times)[step].device <= (*times)[step].span);
        }
      }
    }
  }
  CHECK(read > 0);
}
