// A what-if made real: edited, verified by running the script, and kept in the ledger.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/whatif/outcome.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {

using Say = std::function<void(const std::string&)>;

// What was replayed. A ledger that cannot be written costs a warning.
void keep_predictions(const lab::WhatIfs& all, const std::filesystem::path& bundle, const Say& say);
// What rules foretold of changes that are about to be made or verified: so they have a track record, too.
void keep_foretold(const std::vector<profile::Finding>& findings, const std::filesystem::path& bundle, const Say& say);

// Verifies and applies, as the options say. What has no safe edit is refused, with what to do by hand; where both are asked for, only a
// change that made the script faster is applied.
Result<void> make_changes(lab::WhatIfs& all, const std::filesystem::path& bundle, const WhatIfOptions& options, const Say& say);

}  // namespace hotlens::cli
