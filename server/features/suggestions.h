// What would help, in words: the message at a line, and its hover with the evidence and what carries the prediction.
#pragma once

#include <string>

#include "annotator/advice/suggestion.h"

namespace hotlens::features {

// "Optimizer with fused=True: ≈ −13 % (−16…−10), 41.8 ms → 36.4 ms"; "…: at most −9 %, …" of a bound; what was verified too.
std::string message(const advice::Suggestion& suggestion);
// "Verify by running: Optimizer with fused=True (25 s to 2.1 min)"; the time where it is known.
std::string verify_title(const advice::Suggestion& suggestion);
// Lines: the message, the evidence, the assumption, and what runs told.
std::string explained(const advice::Suggestion& suggestion, bool markdown);

}  // namespace hotlens::features
