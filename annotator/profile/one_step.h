// A profile cut down to one of its steps.
#pragma once

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// Leaves of every list that has an element per step the one at `position`, so that what is shown is that step's. What describes the
// representative step (kernels, causes, slices) must have been made of this one.
void keep_step(Profile& profile, std::size_t position);

}  // namespace hotlens::profile
