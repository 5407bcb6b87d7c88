// The words of a hover: what a line or a call costs, at most ten lines.
#pragma once

#include <string>
#include <string_view>

#include "server/features/line_summary.h"

namespace hotlens::features {

std::string describe(const LineSummary& summary, const profile::Profile& profile, const Options& options);

// "1.23 GFLOP at 45.6 GFLOP/s": the arithmetic of the line's modules; empty where shapes of less than nine tenths of their time are known,
// and where the line was edited.
std::string arithmetic(const LineSummary& summary, const profile::Profile& profile);

// "ResNet 41.6 ms/step · 769 samples/s · launch-bound"
std::string describe_step(const profile::Profile& profile);

}  // namespace hotlens::features
