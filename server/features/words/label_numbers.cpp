#include "server/features/words/label_numbers.h"

#include <fmt/format.h>

#include <array>

namespace hotlens::features {

// What would be written as 1000 of a unit is 1.0 of the next.
Unit unit_of(Ns time) {
  constexpr double kRoundsUp = 0.9995;
  static constexpr std::array<Unit, 3> kUnits = {{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}}};
  for (const Unit& unit : kUnits) {
    if (static_cast<double>(time.count()) >= kRoundsUp * unit.ns) return unit;
  }
  return {1, " ns"};
}

std::string number(Ns time, const Unit& unit) {
  const double value = static_cast<double>(time.count()) / unit.ns;
  if (value < 0.05) return "<0.1";
  return fmt::format("{:.{}f}", value, value < 9.95 ? 1 : 0);
}

}  // namespace hotlens::features
