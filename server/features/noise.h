// How far the number of a line is to be trusted: it is that of one step, and other steps had others.
#pragma once

#include <optional>
#include <string>

#include "server/features/line_summary.h"

namespace hotlens::features {

// Half the distance between the 10th and the 90th percentile over the measured steps, relative to the median. Nothing for fewer than three.
std::optional<double> spread(const LineSummary& summary);
// Whether so far that a label has to say so; not of a clock, which shows the mean of many updates.
bool is_noisy(const LineSummary& summary);
// The number as a label has it: "12.4 ms"; where it is noisy "≈ 12 ms", and where steps differ by more than it "0.4…12 ms", least to most.
std::string number_of(const LineSummary& summary);

}  // namespace hotlens::features
