#include "annotator/profile/columns.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace hotlens::profile {

std::string readable(Ns time) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}}};
  const char* sign = time < Ns{} ? "-" : "";
  const auto value = time < Ns{} ? -static_cast<double>(time.count()) : static_cast<double>(time.count());
  std::array<char, 48> text{};
  for (const auto& [size, unit] : kUnits) {
    if (value < size) continue;
    const double scaled = value / size;
    std::snprintf(text.data(), text.size(), scaled < 10 ? "%s%.2f %s" : scaled < 100 ? "%s%.1f %s" : "%s%.0f %s", sign, scaled, unit);
    return text.data();
  }
  std::snprintf(text.data(), text.size(), "%lld ns", static_cast<long long>(time.count()));
  return text.data();
}

std::string percent(Ns part, Ns whole) {
  std::array<char, 48> text{};
  const double share = whole > Ns{} ? 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
  std::snprintf(text.data(), text.size(), "%.1f %%", share);
  return text.data();
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string right(std::string text, std::size_t columns) {
  return std::string(columns > width(text) ? columns - width(text) : 0, ' ') + text;
}

std::string left(std::string text, std::size_t columns) {
  return text + std::string(columns > width(text) ? columns - width(text) : 0, ' ');
}

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

std::string short_name(std::string_view text, std::size_t columns) {
  std::string name = harmless(text);
  if (width(name) <= columns || columns == 0) return name;
  std::size_t cut = 0;
  for (std::size_t seen = 0; cut < name.size(); ++cut) {
    if ((static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80) continue;
    if (++seen == columns) break;
  }
  return name.substr(0, cut) + "…";
}

}  // namespace hotlens::profile
