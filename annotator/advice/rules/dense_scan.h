// Whether the backward pass of a loop over time could also be a parallel scan over the Jacobians of its steps (Wang et al., BPPSA: Scaling
// Back-propagation by Parallel Scan Algorithm, MLSys 2020). A scan multiplies such matrices with each other, H³ operations and two of them
// for each of B samples, in place of passing a vector on. That pays only while it takes less than a step of the loop does.
#pragma once

#include <span>
#include <string>

#include "annotator/advice/rules/rules.h"

namespace hotlens::rules {

// A sentence without its stop; empty where it would not pay, or the recording does not tell the sizes. `steps`: nodes of the backward pass,
// one for each step of the loop, in order.
std::string dense_scan_note(const Recording& recording, std::span<const std::uint32_t> steps);

}  // namespace hotlens::rules
