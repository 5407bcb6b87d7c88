#include "annotator/profile/statistics.h"

#include <algorithm>
#include <chrono>

namespace hotlens::profile {
namespace {

// An outlier is beyond both: three times the usual distance from the median (noise of a quiet machine), and a fifth of the median (what
// a person would notice).
constexpr std::int64_t kUsualDistances = 3;
constexpr std::int64_t kNoticeableFraction = 5;

constexpr double kExplained = 0.8;  // of an outlier's excess: enough to tell why
constexpr double kWorthNaming = 0.05;
constexpr double kHeldByModule = 0.5;

// In the direction of the whole: how much of `whole` the part explains; negative where it goes the other way.
double share(Ns part, Ns whole) {
  return whole == Ns{} ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// Host time of a module in both directions: what it added to the wall, waiting included.
Ns host_time(const Module& module, std::size_t step) {
  return module.forward[step].cpu_total + module.backward[step].cpu_total;
}

Ns median_of(const Module& module) {
  std::vector<Ns> values(std::min(module.forward.size(), module.backward.size()));
  for (std::size_t step = 0; step < values.size(); ++step) values[step] = host_time(module, step);
  return median(std::move(values));
}

// Median absolute deviation.
Ns usual_distance(std::vector<Ns> values) {
  const Ns middle = median(values);
  for (Ns& value : values) value = std::chrono::abs(value - middle);
  return median(std::move(values));
}

std::vector<Ns> communications(const std::vector<Step>& steps) {
  std::vector<Ns> times;
  for (const Step& step : steps) times.push_back(step.communication);
  return times;
}

}  // namespace

std::optional<Ns> noise_of_steps(const std::vector<Ns>& values) {
  constexpr Ns kClock = std::chrono::microseconds(1);
  return values.size() < 3 ? std::nullopt : std::optional(std::max(kClock, kUsualDistances * usual_distance(values)));
}

std::vector<Ns> walls(const std::vector<Step>& steps) {
  std::vector<Ns> times;
  times.reserve(steps.size());
  for (const Step& step : steps) times.push_back(step.wall);
  return times;
}

Spread spread(std::vector<Ns> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](std::size_t tenths) {
    const std::size_t position = tenths * (values.size() - 1);
    const Ns low = values[position / 10];
    const Ns high = values[std::min(position / 10 + 1, values.size() - 1)];
    return low + (high - low) * static_cast<std::int64_t>(position % 10) / 10;
  };
  return {at(1), median(values), at(9)};
}

Differences::Differences(const Profile& profile)
    : profile_(profile),
      wall_(median(walls(profile.steps))),
      communication_(median(communications(profile.steps))),
      modules_(profile.modules.size()) {
  for (const BucketTimes& bucket : profile.buckets) buckets_.push_back(median(bucket.wall));
}

std::vector<Difference> Differences::of(std::size_t step) {
  std::vector<Difference> found;
  const Ns whole = profile_.steps[step].wall - wall_;
  if (whole != Ns{}) {
    add_buckets(step, whole, found);
    add_module(step, whole, found);
  }
  add_communication(step, found);
  return found;
}

// What the buckets of the host do not show.
void Differences::add_communication(std::size_t step, std::vector<Difference>& found) const {
  const Ns own = profile_.steps[step].communication;
  if (own < 2 * communication_ || own <= communication_) return;
  found.push_back({"communication on the device", own - communication_});
  std::ranges::stable_sort(found, std::ranges::greater{}, &Difference::excess);
}

void Differences::add_buckets(std::size_t step, Ns whole, std::vector<Difference>& found) const {
  std::vector<Difference> buckets;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    const BucketTimes& times = profile_.buckets[bucket];
    const Ns part = step < times.wall.size() ? times.wall[step] - buckets_[bucket] : Ns{};
    if (share(part, whole) > 0) buckets.push_back({"bucket " + std::string(name(times.bucket)), part});
  }
  std::ranges::stable_sort(buckets, std::ranges::greater{}, [&](const Difference& each) { return share(each.excess, whole); });
  double explained = 0;
  for (Difference& each : buckets) {
    if (explained >= kExplained || share(each.excess, whole) < kWorthNaming) break;
    explained += share(each.excess, whole);
    found.push_back(std::move(each));
  }
}

void Differences::add_module(std::size_t step, Ns whole, std::vector<Difference>& found) {
  ModuleId deepest;
  for (std::uint32_t module = 0; module < profile_.modules.size(); ++module) {
    const ModuleId parent = profile_.modules[module].parent;
    if (parent != deepest) continue;  // parents stand before children: only what is directly inside the last one found can be deeper
    if (share(module_excess(module, step), whole) >= kHeldByModule) deepest = ModuleId{module};
  }
  if (!deepest.valid()) return;
  const Module& module = profile_.at(deepest);
  found.push_back({"module " + (module.path.empty() ? module.class_name : module.path), module_excess(deepest.index, step)});
}

Ns Differences::module_excess(std::uint32_t module, std::size_t step) {
  const Module& of = profile_.modules[module];
  if (step >= std::min(of.forward.size(), of.backward.size())) return Ns{};
  std::optional<Ns>& usual = modules_[module];
  if (!usual) usual = median_of(of);
  return host_time(of, step) - *usual;
}

void mark_outliers(std::vector<Step>& steps) {
  const Ns middle = median(walls(steps)), usual = usual_distance(walls(steps));
  for (Step& step : steps) {
    const Ns distance = std::chrono::abs(step.wall - middle);
    step.outlier = distance > usual * kUsualDistances && distance > middle / kNoticeableFraction;
  }
  constexpr std::size_t kLeastSteps = 3;
  constexpr int kNoticeableCommunication = 20;  // one part in so many of the step
  if (steps.size() < kLeastSteps) return;
  const Ns among = median(communications(steps));
  for (Step& step : steps) {
    step.outlier |= step.communication >= 2 * among && (step.communication - among) * kNoticeableCommunication > step.wall;
  }
}

std::size_t representative(const Profile& profile) {
  std::vector<std::size_t> usual;
  for (std::size_t step = 0; step < profile.steps.size(); ++step) {
    if (!profile.steps[step].outlier) usual.push_back(step);
  }
  if (usual.empty()) return 0;
  std::vector<Ns> distance(usual.size());
  const auto compare = [&](const std::vector<Ns>& times) {
    std::vector<Ns> values(usual.size());
    std::ranges::transform(usual, values.begin(), [&](std::size_t step) { return times[step]; });
    const Ns middle = median(values);
    for (std::size_t i = 0; i < values.size(); ++i) distance[i] += std::chrono::abs(values[i] - middle);
  };
  for (const BucketTimes& bucket : profile.buckets) {
    compare(bucket.wall);
    compare(bucket.device);
  }
  for (const StageTimes& stage : profile.stages) compare(stage.wall);
  return usual[static_cast<std::size_t>(std::ranges::min_element(distance) - distance.begin())];
}

}  // namespace hotlens::profile
