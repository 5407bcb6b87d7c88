// How much of a step is the fetch of its batch, which no recorded program has.
#pragma once

#include <filesystem>

namespace hotlens::lab {

// Of an update without a profiler: 0 to 1; 0 where that is not known.
double fetch_share(const std::filesystem::path& bundle);

}  // namespace hotlens::lab
