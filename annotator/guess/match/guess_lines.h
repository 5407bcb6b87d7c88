// Gives the modules of a bare trace their lines, guessed from the source (skeleton_match.h).
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::guess {

// `files`: open files, which may define the model's classes. `roots`: folders whose files may be the trace's, best first: workspace
// folders, folders of open files, site-packages. Gives the profile itself back when it has recorded lines or the trace holds no module
// frames. What stays unknown is counted in its warnings. Reads files; call it off the main strand.
std::shared_ptr<const profile::Profile> guess_lines(std::shared_ptr<const profile::Profile> profile,
                                                    const std::vector<std::filesystem::path>& roots,
                                                    const std::vector<std::filesystem::path>& files);

}  // namespace hotlens::guess
