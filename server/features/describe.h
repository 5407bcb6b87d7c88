// The words of a hover: what a line or a call costs, at most ten lines.
#pragma once

#include <string>
#include <string_view>

#include "server/features/line_summary.h"

namespace hotlens::features {

std::string describe(const LineSummary& summary, const profile::Profile& profile, const Options& options);

// "ResNet 41.6 ms/step · 769 samples/s · launch-bound"
std::string describe_step(const profile::Profile& profile);

}  // namespace hotlens::features
