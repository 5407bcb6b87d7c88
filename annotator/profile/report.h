// A profile as others read it: `hotlens report` as JSON (schema hotlens.report/1), as aligned text, and one line per event.
//
// Text from a trace is hostile: JSON escapes it, and the text report shows control characters as `?`.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// One JSON object, two spaces of indentation.
std::string report_json(const Profile& profile);

struct TextOptions {
  bool color = false;   // terminal colours
  bool unfold = false;  // every module in a row of its own (fold.h)
};

// Steps, stages, buckets, the module tree, the longest kernels and the verdict for people.
std::string report_text(const Profile& profile, const TextOptions& options = {});

// One JSON object a line for every complete event of a step, in file order. `rank` as in annotate().
Result<void> report_events(const std::filesystem::path& bundle_or_trace, std::ostream& out,
                           std::optional<std::int64_t> rank = std::nullopt);

}  // namespace hotlens::profile
