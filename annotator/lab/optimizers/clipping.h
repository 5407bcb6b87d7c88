// `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` that comes or goes, between the backward pass and the update.
#pragma once

#include <optional>
#include <string>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

struct ClippingEdit {
  bool comes = false;  // else it goes
  std::string what;    // "clip_grad_norm_ added"
  Line at;             // in the edited text; no line where it goes
};

// Both texts without the statement.
struct PlainClipping {
  Sources executed, edited;
  ClippingEdit edit;
};

// Nullopt: it stands in both texts or in neither, or somewhere else.
std::optional<PlainClipping> without_clipping(const Sources& executed, const Sources& edited);

// With the operators of torch.nn.utils.clip_grad_norm_, for gradients of one device and type.
std::optional<Unclear> change_clipping(Rewritten& rewritten, const ClippingEdit& edit);

}  // namespace hotlens::layers
