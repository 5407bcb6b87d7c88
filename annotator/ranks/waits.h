// What each rank spends in collectives: waiting for the last to come, and transferring.
#pragma once

#include <span>
#include <vector>

#include "annotator/ranks/together.h"

namespace hotlens::ranks {

// Collectives that at least two ranks recorded, by time. Those without a partner are counted in `issues`.
std::vector<Shared> matched(std::span<const RankRecord> records, const std::vector<std::int64_t>& steps, std::vector<Issue>& issues);

// Fills the times of `set.collectives` and of `set.ranks`, whose clocks are known.
void fill_waits(std::span<const RankRecord> records, RankSet& set);

}  // namespace hotlens::ranks
