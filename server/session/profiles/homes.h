// Whose choices hold: each workspace folder has its own baseline and its own chosen profile.
#pragma once

#include <filesystem>
#include <vector>

namespace hotlens::session {

// Of a file: the innermost folder around it, else the first; empty where there is none.
std::filesystem::path home_of(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& file);

// Of a file that shows this bundle: the folder that the bundle lies in, since a file of another folder follows the profile that tells of
// it. Of a bundle elsewhere, and where there is none, as above.
std::filesystem::path home_of(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& file,
                              const std::filesystem::path& bundle);

}  // namespace hotlens::session
