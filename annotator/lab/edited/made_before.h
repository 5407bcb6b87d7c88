// Tensors of an edited size that the recorded step does not make: its batch, which is there when it begins. Nothing follows these.
#pragma once

#include <optional>

#include "annotator/lab/layers/changes.h"
#include "annotator/lab/program/program.h"

namespace hotlens::layers {

// The first call of the script, or of a function or a dataset of it, for which the step has no operator.
std::optional<Unclear> made_before(const Changes& changes, const lab::Program& program);

}  // namespace hotlens::layers
