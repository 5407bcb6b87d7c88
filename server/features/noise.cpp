#include "server/features/noise.h"

#include <algorithm>
#include <cmath>

#include "annotator/common/format.h"
#include "server/features/label_numbers.h"

namespace hotlens::features {
namespace {

constexpr double kNoisy = 0.25, kNoNumber = 1;

}  // namespace

std::optional<double> spread(const LineSummary& summary) {
  std::vector<Ns> values = summary.headline;
  if (values.size() < 3) return std::nullopt;
  std::ranges::sort(values);
  const auto at = [&](double q) {
    return static_cast<double>(values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))].count());
  };
  if (at(0.5) <= 0) return std::nullopt;
  return (at(0.9) - at(0.1)) / 2 / at(0.5);
}

bool is_noisy(const LineSummary& summary) {
  return !summary.timed && spread(summary).value_or(0) > kNoisy;
}

std::string number_of(const LineSummary& summary) {
  if (!is_noisy(summary)) return format::readable(summary.value);
  const Unit unit = unit_of(summary.value);
  if (*spread(summary) <= kNoNumber) return "≈ " + number(summary.value, unit) + std::string(unit.name);
  const auto [least, most] = std::ranges::minmax(summary.headline);
  const Unit larger = unit_of(most);
  return number(least, larger) + "…" + number(most, larger) + std::string(larger.name);
}

}  // namespace hotlens::features
