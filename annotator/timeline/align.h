// Twins of operators: the same program ran a clean step and a map step, so their operator sequences are the same or nearly so.
//
// Identical sequences map one to one; otherwise the longest common subsequence (Myers 1986) decides. Cost: linear for equal sequences, else
// O(N·D) with D the number of differences, which is bounded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/timeline/forest.h"
#include "annotator/timeline/owners.h"
#include "annotator/timeline/steps.h"

namespace hotlens::timeline {

constexpr std::uint32_t kNoTwin = std::numeric_limits<std::uint32_t>::max();

// For each element of `clean` the index of its twin in `map`, ascending; kNoTwin where it has none.
std::vector<std::uint32_t> align(std::span<const std::uint32_t> clean, std::span<const std::uint32_t> map);

// One trace seen as sequences to align.
struct Recorded {
  const trace::Trace& trace;
  const Forest& forest;
  const Steps& steps;
};

struct Transfer {
  Owners owners;          // of the clean trace's nodes, with the map's chains
  double confidence = 0;  // share of the clean steps' operators that found their twin
};

// Gives every operator of the clean steps the owner of its twin in the map step; those without one get their parent's or neighbours'.
Transfer transfer(const Recorded& clean, const Recorded& map, Owners map_owners);

}  // namespace hotlens::timeline
