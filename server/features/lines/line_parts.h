// Several calls on one line, told apart: what each cost, left to right.
#pragma once

#include <vector>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

struct LinePart {
  source::Range range;                     // of the call; empty for the rest of the line
  std::vector<profile::ModuleId> modules;  // outermost ones called there; empty for the rest
  Ns value{};
};

// The calls on the line of `summary` (`facts` are indices into view.placements), by column, then the rest of the line where it matters. The
// parts add up to summary.value. Only calls whose module is called from nowhere else have a cost of their own; the others belong to the
// rest. Empty where that leaves fewer than two parts, and for lines that do not show what they ran.
std::vector<LinePart> parts_of(const FileView& view, const LineSummary& summary, const std::vector<std::uint32_t>& facts);

}  // namespace hotlens::features
