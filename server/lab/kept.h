// What happens to a change, as records of the ledger.
#pragma once

#include <filesystem>
#include <string>

#include "annotator/advice/ledger.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

// Of now. A prediction has the item's time and what carries it, an applied change its edits.
advice::Record record_of(const WhatIf& item, const std::string& profile, const std::filesystem::path& bundle, advice::Event event);
// What a rule foretold of a change that is about to be made or verified; of a bound the most that it gives is the interval's low end.
advice::Record record_of(const profile::Finding& finding, const std::string& profile, const std::filesystem::path& bundle);

// An editor made the edit of a suggestion: the ledger has it as applied. The edit is found again in the texts that ran.
Result<void> keep_applied(const advice::Suggestion& suggestion);

// What was predicted of edits that somebody typed, and what the next profile has: both go into the ledger of the two.
struct SettledEdit {
  std::string before;  // the profile that it was predicted from, by id
  std::filesystem::path after;
  SourceLine where;
  Ns step_was{}, measured{};
  StepTime predicted;
};
Result<void> keep_settled(const SettledEdit& edit);

}  // namespace hotlens::lab
