// What holds the step up, in a sentence for the line where it happens (annotator/causes/verdict_line.h). The numbers are those of the
// line's hint and hover, and of the verdict's evidence.
#pragma once

#include <optional>
#include <string>

#include "annotator/advice/suggestion.h"
#include "server/features/features.h"

namespace hotlens::features {

struct VerdictMark {
  advice::LineMark at;  // in the text that ran
  std::string code;     // "data-bound"
  std::string message;  // "Data-bound: the step gets its batch here, 30.0 ms an update, 63% of the loop."
};

// Of a view of the text that ran; nothing where the verdict has no line in this file.
std::optional<VerdictMark> verdict_mark(const FileView& executed);

}  // namespace hotlens::features
