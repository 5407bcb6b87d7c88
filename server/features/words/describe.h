// The words of a hover: what a line or a call costs, at most ten lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

inline constexpr std::size_t kMostLines = 10;

// In at most `room` lines: the least telling ones are left out.
std::string describe(const LineSummary& summary, const profile::Profile& profile, const Options& options, std::size_t room = kMostLines);

// "30.0 ms an update, 63% of the loop"; of what no clock saw "12.4 ms, 46% of the step".
std::string number(const LineSummary& summary, const profile::Profile& profile);

// How many lines a reader sees: not the blank ones, nor the fences of a table.
std::size_t lines_seen(std::string_view words);

}  // namespace hotlens::features
