// The words of a hover: what a line or a call costs, at most ten lines.
#pragma once

#include <string>
#include <string_view>

#include "server/features/line_summary.h"

namespace hotlens::features {

std::string describe(const LineSummary& summary, const profile::Profile& profile, const Options& options);

// "ResNet 41.6 ms/step · launch-bound"; and beside it "769 samples/s · busy machine (others 40%)", empty where nothing is to be said.
std::string step_headline(const profile::Profile& profile);
std::string step_notes(const profile::Profile& profile);

// Both as one line.
std::string describe_step(const profile::Profile& profile);

}  // namespace hotlens::features
