#include "annotator/profile/place_name.h"

#include <algorithm>

namespace hotlens::profile {

std::optional<CellLine> cell_line(const std::vector<std::uint32_t>& starts, std::uint32_t line) {
  const auto after = std::ranges::upper_bound(starts, line);
  if (after == starts.begin()) return std::nullopt;
  return CellLine{.cell = static_cast<std::uint32_t>(after - starts.begin()), .line = line - *std::prev(after)};
}

std::string place_name(std::string_view name, const SourceFile& file, std::uint32_t line) {
  std::string text(name);
  return file.cells.empty() ? text.append(":").append(std::to_string(line + 1)) : text.append(" ").append(line_name(file, line));
}

std::string line_name(const SourceFile& file, std::uint32_t line) {
  const std::optional<CellLine> at = cell_line(file.cells, line);
  if (!at) return "line " + std::to_string(line + 1);
  return "cell " + std::to_string(at->cell) + ", line " + std::to_string(at->line + 1);
}

}  // namespace hotlens::profile
