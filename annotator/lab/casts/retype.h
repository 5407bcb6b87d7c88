// The program of a step whose script casts to other number types.
#pragma once

#include <optional>

#include "annotator/lab/casts/casts.h"
#include "annotator/lab/edited/rewrite.h"

namespace hotlens::layers {

// What an optimizer holds has the type of its parameter, but for counters of steps. Which tensors the loop hands over is told by who uses
// them: the layers, or the loss alone.
std::optional<Unclear> retype(Rewritten& rewritten, const CastEdit& edit);

}  // namespace hotlens::layers
