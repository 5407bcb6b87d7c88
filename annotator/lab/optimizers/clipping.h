// `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` that comes or goes, between the backward pass and the update.
#pragma once

#include <optional>
#include <string>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/match/plain.h"

namespace hotlens::layers {

struct ClippingEdit {
  bool comes = false;  // else it goes
  std::string what;    // "clip_grad_norm_ added"
  Line at;             // in the edited text; no line where it goes
};

TakenOut<ClippingEdit> without_clipping(const Sources& executed, const Sources& edited);

// With the operators of torch.nn.utils.clip_grad_norm_, for gradients of one device and type.
std::optional<Unclear> change_clipping(Rewritten& rewritten, const ClippingEdit& edit);

}  // namespace hotlens::layers
