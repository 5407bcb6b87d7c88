// The modules of a profile as rows without times, and the order in which they are shown.
//
// A bundle's model lists every module with its place in the source; a bare trace has only the names that its frames or ranges give.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/owners/owners.h"
#include "annotator/profile/build/annotated.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {

// Those of the model, then those that are called from elsewhere than their own place: what the model holds of them is told at that.
std::vector<Module> recorded_modules(const Annotated& annotated);

// The path is the chain of names from the root. In frames "Linear_3" is class and a counter; a range says nothing of the class.
// Paths too long to be shown are shortened and counted in `warnings`.
std::vector<Module> found_modules(const std::vector<attribution::FoundModule>& found, How how, std::vector<Issue>& warnings);

// Parents before children, siblings by their first call, modules that never ran last in their own order; children are listed.
// Returns the new position of each old one.
std::vector<std::uint32_t> sort_modules(std::vector<Module>& modules, const attribution::Chains& calls);

}  // namespace hotlens::profile
