// What every verb needs to speak to a terminal: colour when it is one, and text from traces that cannot move the cursor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "annotator/common/error.h"

namespace hotlens::cli {

// Exit codes of CONTRACT: scripts rely on them.
enum ExitCode : std::uint8_t { kDone = 0, kThresholdCrossed = 1, kWrongUsage = 2, kInputUnusable = 3, kScriptFailed = 4 };

enum class OutputFormat : std::uint8_t { text, json };

// True when `fd` is a terminal and NO_COLOR is not set.
bool use_colour(int fd);

std::string dim(std::string_view text, bool colour);
std::string bold(std::string_view text, bool colour);

// Prints the error as one sentence on stderr and gives the exit code it means.
int fail(const Error& error);

}  // namespace hotlens::cli
