// A number that is edited where the script sets it, and whose other values the profile knows: the batch size, or one that was varied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/edited.h"

namespace hotlens::lab {

struct NumberEdit {
  std::string name;  // empty: the batch size
  std::int64_t was = 0, is = 0;
  layers::Line at;  // in the edited text
};

// Takes it out of the edited texts. Nullopt where the number that sets the batch size `was` is not known, or stands as it did.
std::optional<NumberEdit> take_batch_edit(const layers::Sources& executed, layers::Sources& edited, std::int64_t was);
// The same of one that the profile has with other values (`--vary`).
std::optional<NumberEdit> take_varied_edit(const layers::Sources& executed, layers::Sources& edited,
                                           const std::vector<profile::VariedProgram>& varied);

struct NamedNumber {
  std::string name;
  layers::Line at;  // in the edited text
};

// The one number that is edited, and nothing else: BLOCK of `BLOCK = 64`, block_size of `block_size: int = 64` or of
// `"--block-size", default=64`. Nullopt: the edit is another one.
std::optional<NamedNumber> edited_number(const layers::Sources& executed, const layers::Sources& edited);

// What it makes of the step, by the recorded values. Where there is one alone, the refusal says how to record others.
void predict_number_edit(const EditedAsk& ask, const NumberEdit& edit, EditedStep& step);

}  // namespace hotlens::lab
