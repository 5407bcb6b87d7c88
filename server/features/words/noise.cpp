#include "server/features/words/noise.h"

#include <algorithm>
#include <cmath>

#include "annotator/common/format.h"
#include "server/features/words/label_numbers.h"

namespace hotlens::features {
namespace {

constexpr double kNoisy = 0.25, kNoNumber = 1;

std::optional<double> spread_of_updates(const LineClock& clock) {
  if (!clock.usual || clock.usual->median <= Ns{}) return std::nullopt;
  return static_cast<double>((clock.usual->p90 - clock.usual->p10).count()) / 2 / static_cast<double>(clock.usual->median.count());
}

}  // namespace

std::optional<double> spread(const LineSummary& summary) {
  if (summary.timed) return spread_of_updates(*summary.clock);
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
  const double updates = summary.timed ? static_cast<double>(std::max<std::int64_t>(summary.clock->in_watched, 1)) : 1;
  return spread(summary).value_or(0) / std::sqrt(updates) > kNoisy;
}

std::string number_of(const LineSummary& summary) {
  if (!is_noisy(summary)) return format::readable(summary.value);
  const Unit unit = unit_of(summary.value);
  if (summary.timed || *spread(summary) <= kNoNumber) return "≈ " + number(summary.value, unit) + std::string(unit.name);
  const auto [least, most] = std::ranges::minmax(summary.headline);
  const Unit larger = unit_of(most);
  return number(least, larger) + "…" + number(most, larger) + std::string(larger.name);
}

}  // namespace hotlens::features
