// Edits of anything but what constructors make and what their `forward` calls: the recorded operators are those of the executed text.
#pragma once

#include <optional>

#include "annotator/lab/layers/alignment.h"
#include "annotator/lab/layers/interpreter.h"
#include "annotator/lab/layers/recorded_layers.h"

namespace hotlens::layers {

// A text and what it makes.
struct Followed {
  const Sources& sources;
  const Interpreter& interpreter;
};

// The first such edit that may have changed the step; nullopt: there is none. `was`: modules of the executed text. Methods of layers that
// neither text makes and the recording does not know are no part of the step.
std::optional<Unclear> other_edit(const Followed& executed, const Followed& edited, const Modules& was, const Recorded& recorded);

}  // namespace hotlens::layers
