#include "annotator/common/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "annotator/common/amount.h"

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

struct Codes {
  std::uint32_t first, last;
};
// East Asian Width W and F, and emoji; marks that combine (Unicode 15).
constexpr std::array kWide = std::to_array<Codes>({{0x1100, 0x115f},
                                                   {0x2e80, 0x303e},
                                                   {0x3041, 0xa4cf},
                                                   {0xac00, 0xd7a3},
                                                   {0xf900, 0xfaff},
                                                   {0xfe30, 0xfe6f},
                                                   {0xff00, 0xff60},
                                                   {0xffe0, 0xffe6},
                                                   {0x1f300, 0x1f64f},
                                                   {0x1f900, 0x1faff},
                                                   {0x20000, 0x3fffd}});
constexpr std::array kCombining = std::to_array<Codes>(
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}});

std::size_t columns_of(std::uint32_t code) {
  const auto holds = [code](const Codes& codes) { return code >= codes.first && code <= codes.last; };
  if (code < 0x300) return 1;
  if (std::ranges::any_of(kCombining, holds)) return 0;
  return std::ranges::any_of(kWide, holds) ? 2 : 1;
}

}  // namespace

// Bytes that do not continue a character.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = static_cast<unsigned char>(text[at]);
    code &= code >= 0xf0 ? 0x07U : code >= 0xe0 ? 0x0fU : code >= 0xc0 ? 0x1fU : 0xffU;
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; ++at) {
      code = code << 6 | (static_cast<unsigned char>(text[at]) & 0x3fU);
    }
    columns += columns_of(code);
  }
  return columns;
}

std::string readable(Ns time) {
  static constexpr std::array kUnits{Unit{1, "ns"}, Unit{1e3, "µs"}, Unit{1e6, "ms"}, Unit{1e9, "s"}};
  return scaled(time.count(), kUnits);
}

std::string long_time(Ns time) {
  const std::int64_t minutes = std::chrono::round<std::chrono::minutes>(time).count();
  if (time < std::chrono::minutes(2)) return readable(time);
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 24 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", minutes / (24 * 60), minutes / 60 % 24);
}

std::string readable(Bytes size) {
  static constexpr std::array kUnits{Unit{1, "B"}, Unit{1e3, "kB"}, Unit{1e6, "MB"}, Unit{1e9, "GB"}, Unit{1e12, "TB"}};
  return scaled(count(size), kUnits);
}

std::string amount(double amount, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; amount >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) amount /= 1000;
  return fmt::format("{} {}{}", prefix == 0 ? fmt::format("{:.0f}", amount) : three_digits(amount), kPrefixes[prefix], unit);
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

std::string counted(std::int64_t count, std::string_view one, std::string_view several) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : several);
}

std::string shortened(std::string_view text, std::size_t columns) {
  std::string name = harmless(text);
  if (width(name) <= columns || columns == 0) return name;
  std::size_t cut = 0;
  for (std::size_t seen = 0; cut < name.size();) {
    std::size_t end = cut + 1;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) ++end;
    seen += width(std::string_view(name).substr(cut, end - cut));
    if (seen >= columns) break;
    cut = end;
  }
  return name.substr(0, cut) + "…";
}

}  // namespace hotlens::format
