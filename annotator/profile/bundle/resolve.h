// Where bundles lie on the disk.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::profile {

// The bundles, other than half-written ones, of the nearest `.hotlens/profiles` upward from `from`, newest first.
std::vector<std::filesystem::path> bundles(const std::filesystem::path& from);

// The same of a folder itself: those that lie in it, or in its own `.hotlens/profiles`; none where the folder is a bundle or has none.
std::vector<std::filesystem::path> bundles_in(const std::filesystem::path& folder);

// Turns what a user types (bundle id, bundle folder, "latest", trace file) into a path. Searches `.hotlens/profiles` upward from `from`.
Result<std::filesystem::path> resolve(std::string_view reference, const std::filesystem::path& from);

}  // namespace hotlens::profile
