#include "annotator/profile/spread.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

constexpr double kDeviationOfNormal = 1.4826;  // standard deviation over median absolute deviation
constexpr double kMedianOverMean = 1.2533;     // √(π/2): the median's error over the mean's

double few_values_factor(std::size_t count) {
  constexpr std::array<double, 10> kFactors = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
  if (count < kFactors.size()) return kFactors.at(count);
  return static_cast<double>(count) / (static_cast<double>(count) - 0.8);
}

// Two-sided: how often chance puts all values of one sample beyond all of the other.
double chance_of_separation(std::size_t before, std::size_t after) {
  double ways = 1;  // to choose which of all values are of `before`
  for (std::size_t i = 1; i <= before; ++i) ways *= static_cast<double>(after + i) / static_cast<double>(i);
  return 2 / ways;
}

// By linear interpolation.
Ns lower_quarter(std::vector<Ns> values) {
  std::ranges::sort(values);
  const double place = static_cast<double>(values.size() - 1) / 4;
  const auto at = static_cast<std::size_t>(place);
  const auto next = static_cast<double>((values[std::min(at + 1, values.size() - 1)] - values[at]).count());
  return values[at] + Ns{static_cast<Ns::rep>(next * (place - static_cast<double>(at)))};
}

}  // namespace

Sample sample(const std::vector<Ns>& values) {
  Sample result{.median = median(values), .count = values.size()};
  if (values.empty()) return result;
  result.quick = lower_quarter(values);
  if (values.size() < 2) return result;
  const auto [least, most] = std::ranges::minmax(values);
  result.least = least;
  result.most = most;
  std::vector<Ns> distances;
  distances.reserve(values.size());
  for (const Ns value : values) distances.push_back(std::chrono::abs(value - result.median));
  const double scale = kDeviationOfNormal * few_values_factor(values.size()) * static_cast<double>(median(std::move(distances)).count());
  result.variance = std::pow(kMedianOverMean * scale, 2) / static_cast<double>(values.size());
  return result;
}

std::optional<Ns> gap(const Sample& before, const Sample& after, double error) {
  const Ns between = std::max(after.least - before.most, before.least - after.most);
  const bool telling = between > Ns{} && chance_of_separation(before.count, after.count) <= error;
  return telling ? std::optional(between) : std::nullopt;
}

}  // namespace hotlens::profile
