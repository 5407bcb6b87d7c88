// Possible twins of the operators of a clean step in the map step, level by level: first the outermost operators, then, for every pair of
// them, those inside. An operator that a program calls may differ inside from its twin, but not lie inside another; so sequences stay
// short, and what changes in one place is no difference in another. Where a level differs in too much (a solver that iterates more often,
// each time longer), it is cut at what repeats in it, and each part is compared with the one most like it; at last with its beginning
// alone.
#pragma once

#include <vector>

#include "annotator/attribution/map_step/align.h"
#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// What one thread ran in one step: operators and stages, those around others first.
struct Program {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> words;  // by element: its name, under a number that both programs share
  std::vector<std::uint32_t> after;  // by element: past the last one inside it
};

// Elements of both programs; `owners`: of the map's nodes, which tell where calls begin and end.
Alignment twins(const Program& clean, const Program& map, const Owners& owners);

}  // namespace hotlens::attribution
