// The recorded program of a model whose layers came, went or are of another kind: their operators, their parameters and all that the step
// does with those.
#pragma once

#include <expected>

#include "annotator/lab/layers/changes.h"
#include "annotator/lab/structure/draft.h"

namespace hotlens::layers {

// Modules and tensors have the edited paths. Layers that are modelled on others have the shapes of those.
std::expected<lab::Finished, Unclear> restructure(lab::Program program, const Changes& changes);

}  // namespace hotlens::layers
