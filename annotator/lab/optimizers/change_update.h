// The program of a step with another optimizer: its states come and go, and each call of step() gives way to the new update.
#pragma once

#include <optional>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/optimizers/script_optimizers.h"

namespace hotlens::layers {

std::optional<Unclear> change_update(Rewritten& rewritten, const OptimizerEdit& edit);

}  // namespace hotlens::layers
