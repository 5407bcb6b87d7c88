// The lines of one file that cost most, with the numbers of their hints.
//
// A line that only sums up others is told apart: a class line, a layer or a call whose module is code of the workspace (its own lines say
// more), a constructor in a helper that several definitions use, a statement of the loop that calls a function whose statements are known.
// What is left is where the time is spent, as far as lines tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

struct HotLine {
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // of its first character that is no blank
  Ns value{};
  double share = 0;        // of the step
  std::string label;       // of its hint
  std::string text;        // of the line, without blanks around it
  bool sums_up = false;    // other lines of the workspace tell where in it the time is spent
  bool of_stage = false;   // forward or backward as a whole: the same, where any line of a layer is known
  bool of_module = false;  // such a line
};

// Lines whose hint shows a time, the costliest first.
std::vector<HotLine> hot_lines(const FileView& view, const Options& options);

}  // namespace hotlens::features
