// Events whose times cannot be: a clock that jumped, a kernel that the driver never saw end. One of them stretches every axis and sum.
#pragma once

#include "annotator/trace/trace.h"

namespace hotlens::trace {

// Leaves out, and names in an issue with their place in the file:
// - events far from all others: behind a pause of an hour and more, with no more than a hundredth of the events on their side of it, or
//   lasting an hour and more beyond the start of the last of the others, where no more than a hundredth do;
// - single events that stand out by far from all others without being hours away: one that ends alone, twenty times as far behind the
//   others as these are from one another, one that starts and ends a thousand times as far off;
// - work of a device that lasts over several whole pieces of other launches on its own stream, which runs one after the other.
// Allocations far from all events go with them. Cost: a pass over the events; sorting only where something looks wrong.
void leave_out_implausible(Trace& trace, Issues& issues);

}  // namespace hotlens::trace
