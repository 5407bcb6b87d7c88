#include "annotator/profile/statistics.h"

#include <algorithm>
#include <chrono>

namespace hotlens::profile {
namespace {

// An outlier is beyond both: three times the usual distance from the median (noise of a quiet machine), and a fifth of the median (what
// a person would notice).
constexpr std::int64_t kUsualDistances = 3;
constexpr std::int64_t kNoticeableFraction = 5;

Ns median_wall(const std::vector<Step>& steps) {
  std::vector<Ns> walls;
  for (const Step& step : steps) walls.push_back(step.wall);
  return median(std::move(walls));
}

}  // namespace

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
