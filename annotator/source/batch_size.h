// Where a script sets its batch size, or a file of settings that it reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "annotator/source/outline/position.h"
#include "annotator/source/outline/tree.h"

namespace hotlens::source {

// The one number `size` that a text sets a batch size with: assigned to a name for it or to a key, passed under one, a value in a dict, the
// second argument of a DataLoader, the default of a parameter, of a field or of an argument of the command line. Nullopt where there is
// none, or several: nobody knows then which one is meant.
std::optional<Range> batch_size_number(const Tree& tree, std::int64_t size);

// The same of JSON, YAML and TOML: `"batch_size": 8`, `train.batch_size: 8  # pictures`, `batch_size = 8`. Columns in bytes.
std::optional<Range> batch_size_in_settings(std::string_view text, std::int64_t size);

}  // namespace hotlens::source
