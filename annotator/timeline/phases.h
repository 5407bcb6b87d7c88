// Stages of operators that no range and no module claims: the loss, copies to the device, and the forward of a trace without modules.
#pragma once

#include "annotator/timeline/owners.h"

namespace hotlens::timeline {

// Marks operators that move tensors and launched a copy from host to device.
void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners);

// In a trace whose modules are known from frames alone: a root without children that runs right before backward, after a root with
// children, is the criterion; its time is the loss.
void mark_criteria(const Forest& forest, const Steps& steps, Owners& owners);

// Step by step on the main thread: what runs after the model's forward and before backward is the loss; in a trace that knows no modules,
// what runs before backward (or in a step without one) is forward.
void fill_phases(const Forest& forest, const Steps& steps, Owners& owners);

}  // namespace hotlens::timeline
