// An edit that somebody typed, or accepted, and that is one of the what-ifs: `fused=True` at the optimizer, the forward pass under
// autocast.
#pragma once

#include <filesystem>
#include <optional>

#include "annotator/lab/layers/python/interpreter.h"
#include "server/lab/candidates.h"

namespace hotlens::lab {

// The what-if whose edit of the texts that ran gives the edited ones, but for blanks and comments. `program`: the recorded one.
std::optional<Candidate> known_edit(const std::filesystem::path& bundle, const Program& program, const layers::Sources& edited);

}  // namespace hotlens::lab
