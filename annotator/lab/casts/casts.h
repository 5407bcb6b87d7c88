// Number types (dtypes) that a script casts to outside of its layers: `model.to(torch.bfloat16)`, `x = x.half()` of a batch,
// `torch.set_default_dtype(torch.float64)`.
//
// Casts are read from the text: of what has `.parameters()`, and of names that are handed to it or to the loss. Any other cast stays what
// it is, a statement like others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/casts/script_casts.h"
#include "annotator/lab/layers/match/plain.h"

namespace hotlens::layers {

struct CastEdit {
  std::optional<std::string> model;     // "bfloat16": of parameters and buffers
  std::optional<std::string> standard;  // the default type, of what factories make
  std::vector<GivenCast> given;
  std::string what;  // "dtype float32 → bfloat16"
  Line at;           // in the edited text
};

// One edit at most, of all casts.
TakenOut<CastEdit> without_casts(const Sources& executed, const Sources& edited);

}  // namespace hotlens::layers
