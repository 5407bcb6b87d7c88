#include "annotator/common/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace hotlens::format {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Three significant digits; whole below the second unit.
std::string scaled(std::int64_t amount, std::span<const Unit> units) {
  const auto value = static_cast<double>(amount);
  std::array<char, 32> text{};
  for (const Unit& unit : units.first(units.size() - 1)) {
    if (std::abs(value) < unit.size) continue;
    const double part = value / unit.size;
    const double digits = std::abs(part);
    std::snprintf(text.data(), text.size(), digits < 10 ? "%.2f %s" : digits < 100 ? "%.1f %s" : "%.0f %s", part, unit.name);
    return text.data();
  }
  std::snprintf(text.data(), text.size(), "%lld %s", static_cast<long long>(amount), units.back().name);
  return text.data();
}

}  // namespace

// Bytes that do not continue a character.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string readable(Ns time) {
  constexpr std::array kUnits = std::to_array<Unit>({{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}});
  return scaled(time.count(), kUnits);
}

std::string readable(Bytes size) {
  constexpr std::array kUnits = std::to_array<Unit>({{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
  return scaled(count(size), kUnits);
}

std::string percent(Ns part, Ns whole) {
  std::array<char, 16> text{};
  const double share = whole > Ns{} ? 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
  std::snprintf(text.data(), text.size(), "%.1f %%", share);
  return text.data();
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

// No control characters: a name may hold terminal escapes. C1 controls (0xc2 0x80 to 0xc2 0x9f) are among them.
std::string harmless(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) ++i;
    safe += byte < 0x20 || byte == 0x7f || c1 ? '?' : text[i];
  }
  return safe;
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
