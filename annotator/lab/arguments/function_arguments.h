// Arguments of functions that one operator takes as they are: `label_smoothing` of a cross entropy, whether attention is causal.
//
// Read from the text, where every call of the function in any file says the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/match/plain.h"

namespace hotlens::layers {

struct ArgumentEdit {
  std::string_view op, layer, keyword;  // "aten::cross_entropy_loss", "CrossEntropyLoss", "label_smoothing"; no op: which one it is
  std::size_t place = 0;                // among the operator's arguments
  lab::Value value;
  std::string what;  // "cross_entropy(label_smoothing=0.0 → 0.1)"
  Line at;           // in the edited text
};

TakenOut<ArgumentEdit> without_arguments(const Sources& executed, const Sources& edited);

// Of all operators of that name.
std::optional<Unclear> change_argument(Rewritten& rewritten, const ArgumentEdit& edit);

}  // namespace hotlens::layers
