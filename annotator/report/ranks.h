// The ranks of one run beside each other, for people and for scripts.
#pragma once

#include <optional>
#include <string>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/ranks/together.h"

namespace hotlens::report {

// Who waits for whom and why, one sentence: the headline of a run of several ranks.
std::string ranks_sentence(const ranks::RankSet& set);

// The sentence, then ranks, steps, collectives and clocks.
std::string ranks_text(const ranks::RankSet& set, const format::Style& style);

// A step of a rank, mean over those that it recorded.
struct RankMeans {
  Ns wall{}, waiting{}, transferring{};
};
RankMeans means(const ranks::RankTotals& rank);

// Both sentences, and the steps and the waiting of every rank that both have. Empty where a side is of one rank.
std::string ranks_diff_text(const std::optional<ranks::RankSet>& before, const std::optional<ranks::RankSet>& after);

// The members of the object `rank_set` (FORMATS.md).
void ranks_json(const ranks::RankSet& set, JsonText& json);

}  // namespace hotlens::report
