// What would help, in words: the message at a line, and its hover with the evidence and what carries the prediction.
#pragma once

#include <string>

#include "annotator/advice/suggestion.h"

namespace hotlens::features {

// "Optimizer with fused=True: ≈ −13 % (−16…−10), 41.8 ms → 36.4 ms"; "…: at most −9 %, …" of a bound; "…, memory 84.0 MB → 60.0 MB"; what
// was verified too.
std::string message(const advice::Suggestion& suggestion);
// Of a replayed change by itself.
std::string message(const lab::WhatIf& change);
// Of blocks to checkpoint: "peak 84.0 MB; −24.0 MB for ≈ +13 % (+11…+15): checkpoint blocks.0 and blocks.2". Of a form
// of the optimizer that is told instead: "peak 84.0 MB is in the optimizer: checkpointing would not lower it; −12.0 MB for ≈ −8 % (…): …"
std::string checkpoint_lens(const lab::WhatIf& change);
// "Verify by running: Optimizer with fused=True (25 s to 2.1 min)"; the time where it is known.
std::string verify_title(const advice::Suggestion& suggestion);
// Lines: the message, the evidence, the assumption, and what runs told.
std::string explained(const advice::Suggestion& suggestion, bool markdown);

}  // namespace hotlens::features
