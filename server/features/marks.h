// What is worth a hint among the diagnostics, in a sentence for its line: what holds the step up (annotator/causes/verdict_line.h; the
// numbers are those of the line's hint and hover, and of the verdict's evidence), and an evaluation with gradients on.
#pragma once

#include <string>
#include <vector>

#include "annotator/advice/suggestion.h"
#include "server/features/features.h"

namespace hotlens::features {

struct Mark {
  advice::LineMark at;  // in the text that ran
  std::string code;     // "data-bound", "no_grad"
  bool limits = false;  // it is what limits the step
  std::string message;  // "Data-bound: the step gets its batch here, 30.0 ms an update, 63% of the loop."
};

// Of a view of the text that ran; what limits the step comes first.
std::vector<Mark> marks_of(const FileView& executed);

}  // namespace hotlens::features
