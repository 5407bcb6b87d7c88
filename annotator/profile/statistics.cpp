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
constexpr double kHeldByModule = 0.5;

Ns median_wall(const std::vector<Step>& steps) {
  std::vector<Ns> walls;
  for (const Step& step : steps) walls.push_back(step.wall);
  return median(std::move(walls));
}

Ns excess(const std::vector<Ns>& values, std::size_t step) {
  return step < values.size() ? values[step] - median(values) : Ns{};
}

// In the direction of the whole: how much of `whole` the part explains; negative where it goes the other way.
double share(Ns part, Ns whole) {
  return whole == Ns{} ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// Host time of a module in both directions: what it added to the wall, waiting included.
Ns module_excess(const Module& module, std::size_t step) {
  std::vector<Ns> values(std::min(module.forward.size(), module.backward.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = module.forward[i].cpu_total + module.backward[i].cpu_total;
  return excess(values, step);
}

void add_buckets(const Profile& profile, std::size_t step, Ns whole, std::vector<Difference>& found) {
  std::vector<Difference> buckets;
  for (const BucketTimes& bucket : profile.buckets) {
    const Ns part = excess(bucket.wall, step);
    if (share(part, whole) > 0) buckets.push_back({"bucket " + std::string(name(bucket.bucket)), part});
  }
  std::ranges::stable_sort(buckets, std::ranges::greater{}, [&](const Difference& each) { return share(each.excess, whole); });
  double explained = 0;
  for (Difference& each : buckets) {
    if (explained >= kExplained) break;
    explained += share(each.excess, whole);
    found.push_back(std::move(each));
  }
}

void add_module(const Profile& profile, std::size_t step, Ns whole, std::vector<Difference>& found) {
  ModuleId deepest;
  for (std::uint32_t module = 0; module < profile.modules.size(); ++module) {
    const ModuleId parent = profile.modules[module].parent;
    if (parent != deepest) continue;  // parents stand before children: only what is directly inside the last one found can be deeper
    if (share(module_excess(profile.modules[module], step), whole) >= kHeldByModule) deepest = ModuleId{module};
  }
  if (!deepest.valid()) return;
  const Module& module = profile.at(deepest);
  found.push_back({"module " + (module.path.empty() ? module.class_name : module.path), module_excess(module, step)});
}

}  // namespace

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

std::vector<Difference> differences(const Profile& profile, std::size_t step) {
  std::vector<Difference> found;
  const Ns whole = profile.steps[step].wall - median_wall(profile.steps);
  if (whole == Ns{}) return found;
  add_buckets(profile, step, whole, found);
  add_module(profile, step, whole, found);
  return found;
}

void mark_outliers(std::vector<Step>& steps) {
  const Ns middle = median_wall(steps);
  std::vector<Ns> distances;
  for (const Step& step : steps) distances.push_back(std::chrono::abs(step.wall - middle));
  const Ns usual = median(std::move(distances));
  for (Step& step : steps) {
    const Ns distance = std::chrono::abs(step.wall - middle);
    step.outlier = distance > usual * kUsualDistances && distance > middle / kNoticeableFraction;
  }
}

std::size_t representative(const std::vector<Step>& steps) {
  if (steps.empty()) return 0;
  const Ns middle = median_wall(steps);
  const auto distance = [&](const Step& step) { return std::chrono::abs(step.wall - middle); };
  return static_cast<std::size_t>(std::ranges::min_element(steps, {}, distance) - steps.begin());
}

}  // namespace hotlens::profile
