// How a line of an executed file is spelled for people: "train.py:12"; of a notebook "train.ipynb cell 3, line 5".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// Of a notebook, whose code cells begin at these lines of its script.
struct CellLine {
  std::uint32_t cell = 0;  // from 1
  std::uint32_t line = 0;  // in the cell, from 0
};
// Nothing for a line before the first cell.
std::optional<CellLine> cell_line(const std::vector<std::uint32_t>& starts, std::uint32_t line);

// `name` is the file's as it is to be shown. `line` counts from 0.
std::string place_name(std::string_view name, const SourceFile& file, std::uint32_t line);
// "line 12", "cell 3, line 5".
std::string line_name(const SourceFile& file, std::uint32_t line);

}  // namespace hotlens::profile
