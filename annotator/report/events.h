// What every event of a trace was found to be: `hotlens report --events`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>

#include "annotator/common/error.h"

namespace hotlens::report {

// One JSON object a line for every complete event of a step, in file order. `rank` as in profile::annotate().
Result<void> report_events(const std::filesystem::path& bundle_or_trace, std::ostream& out,
                           std::optional<std::int64_t> rank = std::nullopt);

}  // namespace hotlens::report
