// The line of a hover that says what a layer holds from its forward to its backward pass.
#pragma once

#include <string>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// "held until backward: 3.00 MB, 94.0 kB needed; shared with conv2"; empty for a line that makes and calls no layer, or where it is not
// known.
std::string held_note(const LineSummary& summary, const profile::Profile& profile, bool markdown);

}  // namespace hotlens::features
