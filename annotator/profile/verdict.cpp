#include "annotator/profile/verdict.h"

#include <algorithm>
#include <string>

#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

// A cause is named when removing it would save a third of the step; the device counts as full when it idles less than 15 %.
constexpr double kMajor = 1.0 / 3.0;
constexpr double kFull = 0.85;
constexpr double kMostlyCompute = 0.7;

Ns wall_of(const Profile& profile, Bucket bucket) {
  const auto at = std::ranges::find(profile.buckets, bucket, &BucketTimes::bucket);
  return at == profile.buckets.end() ? Ns{} : median(at->wall);
}

Ns device_of(const Profile& profile, Bucket bucket) {
  const auto at = std::ranges::find(profile.buckets, bucket, &BucketTimes::bucket);
  return at == profile.buckets.end() ? Ns{} : median(at->device);
}

double share(Ns part, Ns whole) {
  return whole > Ns{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::string place_of(const Profile& profile, Stage stage) {
  const auto at = std::ranges::find(profile.stage_sites, stage, &StageSite::stage);
  if (at == profile.stage_sites.end()) return {};
  return profile.files[at->site.file.index].path.string() + ":" + std::to_string(at->site.line + 1);
}

Ns operators(const Profile& profile) {
  Ns sum{};
  for (const Bucket bucket :
       {Bucket::zero_grad, Bucket::forward, Bucket::loss, Bucket::backward, Bucket::gradient_accumulation, Bucket::optimizer}) {
    sum += wall_of(profile, bucket);
  }
  return sum;
}

std::string cause_without_device(const Profile& profile, Ns wall) {
  if (share(wall_of(profile, Bucket::data_loading), wall) >= kMajor) return "data";
  if (share(wall_of(profile, Bucket::communication), wall) >= kMajor) return "communication";
  if (share(operators(profile), wall) >= kMostlyCompute) return "compute";
  return "unclear";
}

std::string cause_with_device(const Profile& profile, Ns wall, Ns busy) {
  if (share(device_of(profile, Bucket::communication), busy) >= kMajor) return "communication";
  if (share(device_of(profile, Bucket::host_to_device), busy) >= kMajor) return "copy";
  if (share(busy, wall) >= kFull) return "compute";
  const Ns waiting = wall_of(profile, Bucket::waiting);
  if (share(wall_of(profile, Bucket::data_loading), wall) >= kMajor) return "data";
  if (share(wall_of(profile, Bucket::host_to_device), wall) >= kMajor) return "copy";
  if (share(waiting, wall) >= kMajor && share(busy, wall) < 0.5) return "sync";
  // The device idles although the host neither loads, copies nor waits: it is fed too slowly.
  if (share(busy, wall) < 1 - kMajor && share(waiting, wall) < kMajor) return "launch";
  return "unclear";
}

}  // namespace

Verdict judge(const Profile& profile) {
  Verdict verdict;
  const Ns wall = profile.step_wall();
  if (wall <= Ns{}) return verdict;
  std::vector<Ns> device;
  for (const Step& step : profile.steps) device.push_back(step.device);
  const Ns busy = median(std::move(device));
  verdict.kind = busy > Ns{} ? cause_with_device(profile, wall, busy) : cause_without_device(profile, wall);
  if (busy > Ns{}) {
    verdict.evidence.push_back({"device busy", busy, {}});
    verdict.evidence.push_back({"device idle", wall - busy, {}});
  }
  const auto add = [&](std::string what, Bucket bucket, Stage stage) {
    const Ns time = wall_of(profile, bucket);
    if (time > Ns{}) verdict.evidence.push_back({std::move(what), time, place_of(profile, stage)});
  };
  add("host loads data", Bucket::data_loading, Stage::data);
  add("host waits for the device", Bucket::waiting, Stage::other);
  add("forward operators", Bucket::forward, Stage::forward);
  add("backward operators", Bucket::backward, Stage::backward);
  add("optimizer", Bucket::optimizer, Stage::optimizer);
  add("communication", Bucket::communication, Stage::other);
  add("host code between operators", Bucket::host, Stage::other);
  std::ranges::stable_sort(verdict.evidence, std::ranges::greater{}, &Verdict::Evidence::time);
  return verdict;
}

}  // namespace hotlens::profile
