// Time of a step that goes to memory's first touch, which a replay does not have.
//
// A script gives freed memory back to the system or keeps it, by chance and by the allocator's settings; where it gives it back, each step
// touches new pages, and the system fills them (minor page faults). Replays keep what they free. So a change that a replay tells nothing
// about, such as fewer temporaries, may end such faults, or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "annotator/common/units.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

// What one takes here, measured by touching memory (some milliseconds of work). Zero where it cannot be.
Ns cost_of_a_fault();

// Nullopt where they are no large part of the step. `faults`: of steps without a profiler, as `steps`.
std::optional<PageFaults> much_faulting(const std::vector<std::int64_t>& faults, const std::vector<Ns>& steps, Ns each);

// The same of a profile; measures what a fault takes where it does not tell.
std::optional<PageFaults> much_faulting(const std::filesystem::path& bundle, const std::vector<Ns>& steps);

}  // namespace hotlens::lab
