// Edits of a script beside its layers: what changes no step, number types, arguments of functions, clipping, optimizers. Each is taken out
// of both texts, so that the rest can be compared; and what it makes of the step is told of the step that the rest makes.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <vector>

#include "annotator/lab/edited/edited.h"
#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::lab {

struct BesideLayers {
  layers::Sources executed, edited;  // what is left of both
  std::vector<LayerEdit> edits;
  std::vector<std::function<std::optional<layers::Unclear>(layers::Rewritten&)>> rewrites;  // in this order
};

// `waits`: to ask for a number is to wait for a device.
std::expected<BesideLayers, layers::Unclear> read_beside_layers(const layers::Sources& executed, const layers::Sources& edited, bool waits);

}  // namespace hotlens::lab
