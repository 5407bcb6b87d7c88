#include "annotator/common/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace hotlens::format {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

// Whole numbers in the first unit, three significant digits above it. 999.5 of a unit would round to "1000": it belongs to the next one.
std::string scaled(std::int64_t amount, std::span<const Unit> units) {
  const auto value = std::abs(static_cast<double>(amount));
  const auto above = std::ranges::find_if(units, [&](const Unit& unit) { return value < unit.size * 0.9995; });
  if (above - units.begin() < 2) return fmt::format("{} {}", amount, units.front().name);
  const Unit& unit = *(above - 1);
  return fmt::format("{}{} {}", amount < 0 ? "-" : "", three_digits(value / unit.size), unit.name);
}

}  // namespace

// Bytes that do not continue a character.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string readable(Ns time) {
  static constexpr std::array kUnits{Unit{1, "ns"}, Unit{1e3, "µs"}, Unit{1e6, "ms"}, Unit{1e9, "s"}};
  return scaled(time.count(), kUnits);
}

std::string readable(Bytes size) {
  static constexpr std::array kUnits{Unit{1, "B"}, Unit{1e3, "kB"}, Unit{1e6, "MB"}, Unit{1e9, "GB"}, Unit{1e12, "TB"}};
  return scaled(count(size), kUnits);
}

std::string percent(Ns part, Ns whole) {
  return fmt::format("{:.1f} %", whole > Ns{} ? 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0);
}

std::string share(double part) {
  return part < 0.005 ? "<1%" : fmt::format("{:.0f}%", part * 100);
}

std::string right(const std::string& text, std::size_t columns) {
  return std::string(columns > width(text) ? columns - width(text) : 0, ' ') + text;
}

Style style(bool color) {
  return color ? Style{"\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"} : Style{};
}

std::string left(const std::string& text, std::size_t columns) {
  return text + std::string(columns > width(text) ? columns - width(text) : 0, ' ');
}

std::string shortened(std::string_view text, std::size_t columns) {
  std::string name = harmless(text);
  if (width(name) <= columns || columns == 0) return name;
  std::size_t cut = 0;
  for (std::size_t seen = 0; cut < name.size(); ++cut) {
    const bool continues = (static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80;
    if (!continues && ++seen == columns) break;
  }
  return name.substr(0, cut) + "…";
}

}  // namespace hotlens::format
