// What is worth a hint among the diagnostics, in a sentence for its line: what holds the step up (annotator/causes/verdict_line.h; the
// numbers are those of the line's hint and hover, and of the verdict's evidence), and an evaluation with gradients on.
#pragma once

#include <vector>

#include "server/features/features.h"
#include "server/features/lines/mark.h"

namespace hotlens::features {

// Of a view of the text that ran; what limits the step comes first.
std::vector<Mark> marks_of(const FileView& executed);

}  // namespace hotlens::features
