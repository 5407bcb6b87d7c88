// What worker processes would make of a loop that fetches its batches itself: max(C + q, D / w), of the loop's unprofiled times.
//
// D: fetching, C: everything else of an update, w: workers, q: what handing a batch over takes. Workers only count where processors are
// free for them: those that neither other programs nor the training itself, while it computes, have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "annotator/profile/loop.h"

namespace hotlens::rules {

struct Loading {
  profile::Foretold step;
  std::int64_t workers = 0;
};

// `fetch`: the header of the loop over batches. Nullopt where no processor is free, or it is not known whether one is.
std::optional<Loading> with_workers(const profile::Loop& loop, const profile::LoopStatement& fetch);

// Else workers make the step longer: of tensors that lie in memory, say.
bool outlasts_handing_over(const profile::LoopStatement& fetch);

}  // namespace hotlens::rules
