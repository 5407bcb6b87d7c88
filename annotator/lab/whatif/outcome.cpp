#include "annotator/lab/whatif/outcome.h"

#include <algorithm>
#include <cmath>

#include "annotator/profile/spread.h"

namespace hotlens::lab {
namespace {

constexpr double kTwoSigma = 2;
constexpr double kParts = 1e9;  // a ratio in billionths, so that the sample's statistics are those of times

}  // namespace

std::optional<Ratio> ratio_of(const Replays& recorded, const Replays& changed, double error) {
  std::vector<Ns> ratios;
  for (std::size_t at = 0; at < std::min(recorded.wall.size(), changed.wall.size()); ++at) {
    if (recorded.wall[at] <= Ns{}) continue;
    const double ratio = static_cast<double>(changed.wall[at].count()) / static_cast<double>(recorded.wall[at].count());
    ratios.emplace_back(std::llround(ratio * kParts));
  }
  if (ratios.empty()) return std::nullopt;
  const profile::Sample sample = profile::sample(ratios);
  const double median = static_cast<double>(sample.median.count()) / kParts;
  if (median <= 0) return std::nullopt;
  const double chance = kTwoSigma * std::sqrt(sample.variance) / kParts / median;
  const double factor = 1 + std::hypot(chance, error);
  return Ratio{.ratio = median, .low = median / factor, .high = median * factor};
}

}  // namespace hotlens::lab
