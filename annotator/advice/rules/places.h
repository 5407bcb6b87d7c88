// The line of the user's code that a host node ran for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "annotator/advice/rules/rules.h"

namespace hotlens::rules {

struct CodePlace {
  std::string file;
  std::int64_t line = 0;  // from 0
};

// Of a bundle the innermost line of the workspace; of a trace with Python frames the innermost function that is not torch's, at the line
// where the trace saw it entered. Nullopt where neither tells.
std::optional<CodePlace> place_of(const Recording& recording, std::uint32_t node);

}  // namespace hotlens::rules
