// Which root modules of a trace compute the loss.
#pragma once

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// In a trace whose modules are known from frames or ranges: a root called between the last root that owns parameters and backward is the
// criterion, and so is one whose class says so; its time is the loss. A module owns parameters when gradients accumulate from its
// operators. Where no accumulation is recorded, a root without children after one with children is the criterion.
void mark_criteria(const trace::Trace& trace, const Forest& forest, const Steps& steps, Owners& owners);

}  // namespace hotlens::attribution
