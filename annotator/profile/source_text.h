// The source that a profile's lines are counted in.
#pragma once

#include <optional>
#include <string>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The text of one of the profile's files as it was executed, or as its lines were guessed from it. Nothing where it was not kept; a copy is
// read only where it is a regular file in the bundle. Blocks on I/O.
std::optional<std::string> executed_text(const Profile& profile, FileId file);

}  // namespace hotlens::profile
