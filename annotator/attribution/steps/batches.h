// From the marks of a training loop to its batches: one step each.
#pragma once

#include <vector>

#include "annotator/attribution/steps/loop.h"
#include "annotator/attribution/steps/steps.h"

namespace hotlens::attribution {

// Steps by optimizer updates, or by backward passes where `marks` holds no update; the rules stand at find_steps(). Empty where backward
// passes alone do not repeat: then nothing tells that they are steps. `begin`: of the recording.
std::vector<StepSpan> batches(const std::vector<Mark>& marks, const std::vector<Pass>& passes, Ns begin);

}  // namespace hotlens::attribution
