// Where a recorded program calls what an edit is beside.
#pragma once

#include <optional>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/structure/calls.h"

namespace hotlens::layers {

// Of step `number`: a layer wherever this call of it in the text ran, a function in its line, or right after what is called before it.
// `steps`: the nearest first. Empty: it left no operator; nullopt: which it is cannot be told.
std::optional<std::vector<lab::Call>> locate(const lab::Program& program, const Gap& gap, const std::vector<Step>& steps,
                                             std::size_t number);

// The operator that gives the value of the gap's statement, in each call of the module. Nullopt: the recording has no lines, or none there.
std::optional<std::vector<lab::Call>> locate_value(const lab::Program& program, const Gap& gap);

}  // namespace hotlens::layers
