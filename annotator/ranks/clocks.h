// Clock skew between ranks: a collective ends together.
#pragma once

#include <span>
#include <vector>

#include "annotator/ranks/together.h"

namespace hotlens::ranks {

// By rank, against the first. A difference is corrected where it is clear: larger than its spread, than what
// threads need to wake up, and than the shorter stay in the collective, within which ranks may leave at different times.
// Ranks that share no collective with the first are reached through others.
std::vector<Clock> clocks(std::span<const RankRecord> records, std::span<const Shared> collectives);

// Whether all leave such an operation together: not a broadcast, whose sender does not wait.
bool ends_together(const std::string& operation);

}  // namespace hotlens::ranks
