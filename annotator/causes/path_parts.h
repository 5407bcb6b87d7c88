// The critical path as a list that a person or a script can read: neighbours of one name and cause are one, and so are the shortest ones
// where there are too many.
#pragma once

#include <cstddef>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::causes {

// Covers what `parts` cover, with `most` entries or fewer. Cost: O(n log n).
std::vector<profile::CriticalPart> readable_path(std::vector<profile::CriticalPart> parts, std::size_t most);

}  // namespace hotlens::causes
