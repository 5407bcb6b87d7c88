// What would help, in words: the message at a line, and its hover with the evidence and what carries the prediction.
#pragma once

#include <string>

#include "annotator/advice/suggestion.h"

namespace hotlens::features {

// "Optimizer with fused=True: ≈ −13 % (−16…−10), 41.8 ms → 36.4 ms"
std::string message(const advice::Suggestion& suggestion);
// Three lines: the message, the evidence, the assumption.
std::string explained(const advice::Suggestion& suggestion, bool markdown);

}  // namespace hotlens::features
