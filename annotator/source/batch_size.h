// Where a script sets its batch size.
#pragma once

#include <cstdint>
#include <optional>

#include "annotator/source/outline/position.h"
#include "annotator/source/outline/tree.h"

namespace hotlens::source {

// The one number `size` that a text sets a batch size with: assigned to a name for it, passed under one, a parameter's default, or the
// default of an argument of the command line. Nullopt where there is none, or several: nobody knows then which one is meant.
std::optional<Range> batch_size_number(const Tree& tree, std::int64_t size);

}  // namespace hotlens::source
