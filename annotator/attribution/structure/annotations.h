// Ranges that a person put around parts of a model (record_function, NVTX-like): which of them are modules. Decided by place among the
// operators, not by name.
#pragma once

#include <vector>

#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

// By node: false for ranges that are no module, true for every other node.
//
// A module's range encloses forward operators and nothing of the loop: no backward operator on its own thread or meanwhile on another, no
// optimizer, data or gradient stage, no step. Outermost ones enclose an operator that some backward operator comes from (in a trace without
// backward: any operator); what nests in them, or in a forward stage, need only enclose an operator. A range of a module that runs again
// inside backward (checkpointing) is one too. In a trace with module frames or markers no range is a module: those know better.
std::vector<bool> modules_among_ranges(const trace::Trace& trace, const Forest& forest);

// The forest of a trace without the ranges that are no module. `ranges`: false where something better knows the modules; no range is one
// then, since they would only stand between operators and what these are inside of.
Forest module_forest(const trace::Trace& trace, bool ranges = true);

}  // namespace hotlens::attribution
