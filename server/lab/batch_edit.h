// The batch size edited where the script sets it, as one of the edits of a source.
#pragma once

#include <cstdint>
#include <optional>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/interpreter.h"
#include "server/lab/edited.h"

namespace hotlens::lab {

struct BatchEdit {
  std::int64_t was = 0, is = 0;
  layers::Line at;  // in the edited text
};

// Takes it out of the edited texts. Nullopt where the number that sets the batch size `was` is not known, or stands as it did.
std::optional<BatchEdit> take_batch_edit(const layers::Sources& executed, layers::Sources& edited, std::int64_t was);

// What it makes of the step, by two recorded sizes. Where there is one, the refusal says how to record another.
void predict_batch_edit(const EditedAsk& ask, const BatchEdit& edit, EditedStep& step);

}  // namespace hotlens::lab
