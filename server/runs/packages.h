// The folders in which a Python finds its installed packages, told from the disk alone: no interpreter is started.
#pragma once

#include <filesystem>
#include <vector>

namespace hotlens::runs {

// site-packages and dist-packages beside `python` (a virtual environment's, else its installation's), and the folders that .pth files there
// add. Empty when there are none. Reads a few folders.
std::vector<std::filesystem::path> package_folders(const std::filesystem::path& python);

// Folders that may stand on sys.path when `file` is imported: its own and those above it that are not the file system's root.
std::vector<std::filesystem::path> import_folders(const std::filesystem::path& file);

}  // namespace hotlens::runs
