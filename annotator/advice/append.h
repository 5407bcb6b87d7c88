// One line at the end of a file that several processes write.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "annotator/common/error.h"

namespace hotlens::advice {

// In one write, so that lines of two processes do not mix. `what`, for people: "the ledger".
Result<void> append_line(const std::filesystem::path& file, std::string line, std::string_view what);

}  // namespace hotlens::advice
