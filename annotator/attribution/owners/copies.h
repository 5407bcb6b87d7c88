// Operators that move tensors from the host to the device.
#pragma once

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// Marks those that launched such a copy, and what runs inside them; their stage is the copy's where nothing else claims them.
void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners);

}  // namespace hotlens::attribution
