// The numbers of a hover as aligned columns: forward and backward of layers, or the parts of a stage.
#pragma once

#include <string>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// In Markdown between fences; without a line end behind it.
std::string table_words(const LineSummary& summary, const profile::Profile& profile, bool markdown);

}  // namespace hotlens::features
