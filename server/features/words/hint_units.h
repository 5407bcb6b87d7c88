// What a hint's number is of: the time of a step, the share of it, the memory held at the peak, or the samples per second that the line
// alone would allow. Time is spelled in inlay_hints.cpp; this is for the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

std::string_view name(HintUnit unit);  // as the setting says it
std::optional<HintUnit> unit_named(std::string_view name);
HintUnit after(HintUnit unit);  // the next one, from the last to the first

// "24% ×6", "1.2 MB 24%", "2130/s"; empty where that is not known of the line, or less than `min_share` of the whole.
std::string number_in(HintUnit unit, const LineSummary& summary, const profile::Profile& profile, double min_share);

}  // namespace hotlens::features
