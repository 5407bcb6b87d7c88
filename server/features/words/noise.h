// How far the number of a line is to be trusted: it is that of one step, and other steps had others.
#pragma once

#include <optional>
#include <string>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// Half the distance between the 10th and the 90th percentile, relative to the median: over the measured steps, of a clock over the updates
// that it watched. Nothing for fewer than three.
std::optional<double> spread(const LineSummary& summary);
// Whether so far that a label has to say so. A clock shows a mean: of n updates it lies nearer to the truth than each, by the root of n.
bool is_noisy(const LineSummary& summary);
// The number as a label has it: "12.4 ms"; where it is noisy "≈ 12 ms", and where steps differ by more than it "0.4…12 ms", least to most.
// A clock's mean stays a number: it adds up with the others.
std::string number_of(const LineSummary& summary);

}  // namespace hotlens::features
