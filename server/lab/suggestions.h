// Which predictions of the ledger are worth a place in the editor: nothing runs and nothing is replayed; the recorded step is read again
// for the evidence, and the text that ran for the place.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "annotator/advice/edits/sources.h"
#include "annotator/advice/silenced.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"

namespace hotlens::lab {

// Of one profile, of each single change the last prediction, in any order. A ledger without any costs no look at the recorded step.
Result<std::vector<advice::Suggestion>> suggestions(const std::filesystem::path& bundle);

// Gives single changes that somebody silenced at their place, and that nothing was done with, that state.
void mark_silenced(WhatIfs& all, const std::filesystem::path& bundle);

}  // namespace hotlens::lab
