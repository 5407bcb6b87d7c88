// Files of a bundle that was recorded elsewhere: on a cluster, by CI, in another clone.
#pragma once

#include <filesystem>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The folder around `.hotlens/profiles`; empty where the bundle lies in none.
std::filesystem::path workspace_of(const std::filesystem::path& bundle);

// Names the files as they lie in the workspace that holds the bundle (the folder of its `.hotlens`). `cwd`: where it was recorded. A file
// of the project is the one that has the same place below the workspace as it had below `cwd`, or below a folder around that, and at least
// half of whose executed lines still stand there. Others keep their name, and so do all of a bundle that lies where it was recorded. Reads
// sources of the workspace, none outside.
void name_as_they_lie(const std::filesystem::path& bundle, const std::filesystem::path& cwd, std::vector<SourceFile>& files);

}  // namespace hotlens::profile
