// Where this program's file is: its recorder, pages and worker's sources are found from there, and its own verbs are started by it.
#pragma once

#include <filesystem>

#include "annotator/common/error.h"

namespace hotlens {

// Absolute, links resolved. not_found where the system does not tell.
Result<std::filesystem::path> own_program();

}  // namespace hotlens
