// Where bundles lie on the disk.
#pragma once

#include <filesystem>
#include <vector>

namespace hotlens::profile {

// The complete bundles of the nearest `.hotlens/profiles` upward from `from`, newest first.
std::vector<std::filesystem::path> bundles(const std::filesystem::path& from);

}  // namespace hotlens::profile
