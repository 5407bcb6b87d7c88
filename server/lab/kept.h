// What happens to a change, as records of the ledger.
#pragma once

#include <filesystem>
#include <string>

#include "annotator/advice/ledger.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

// Of now. A prediction has the item's time and what carries it, an applied change its edits.
advice::Record record_of(const WhatIf& item, const std::string& profile, const std::filesystem::path& bundle, advice::Event event);
// What a rule foretold of a change that is about to be made or verified; of a bound the most that it gives is the interval's low end.
advice::Record record_of(const profile::Finding& finding, const std::string& profile, const std::filesystem::path& bundle);

// An editor made the edit of a suggestion: the ledger has it as applied. The edit is found again in the texts that ran.
Result<void> keep_applied(const advice::Suggestion& suggestion);

}  // namespace hotlens::lab
