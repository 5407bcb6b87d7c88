// Which predictions of the ledger, and findings of the recording, are worth a place in the editor: nothing runs and nothing is replayed;
// the recorded step is read again for the evidence, and the text that ran for the place.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "annotator/advice/edits/sources.h"
#include "annotator/advice/silenced.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"

namespace hotlens::lab {

// What a rule found, as a change; `step`: what a step takes without it, where that stands beside its evidence. It has no time: most rules
// tell a bound, which is no prediction.
WhatIf change_of(const profile::Finding& finding, std::optional<Ns> step = std::nullopt);

// Of one profile, of each single change the last prediction, in any order; `findings`, those of the same profile, of what was never
// replayed. Where there is neither nothing is read.
Result<std::vector<advice::Suggestion>> suggestions(const std::filesystem::path& bundle, std::span<const profile::Finding> findings);

// Choices of blocks to checkpoint, as they were replayed last (annotator/lab/checkpoint/kept.h): the one that frees most for its time
// first, then the one that takes least time and the one with the lowest peak. Where the peak is in the optimizer, the form of it that
// lowers the peak instead. Empty where none are kept, or nothing tells where they are edited.
std::vector<advice::Suggestion> checkpoint_choices(const std::filesystem::path& bundle);

// Gives single changes that somebody silenced at their place, and that nothing was done with, that state.
void mark_silenced(WhatIfs& all, const std::filesystem::path& bundle);

}  // namespace hotlens::lab
