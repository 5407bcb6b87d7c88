// Edits beside layers: every difference of the two texts must be one that predictions follow, or one that changes no step.
//
// Followed are arguments of layers' constructors, layers that come, go or are of another kind, numbers whose every use is known (uses.h),
// and calls of `forward`, which are compared elsewhere (forward.h). Comments, docstrings, annotations, notes to people, imports and
// functions that nothing uses change nothing. Everything else is refused at its line, whatever it is: what is not known here must not give
// a number.
#pragma once

#include <expected>
#include <vector>

#include "annotator/lab/layers/effects/other_edits.h"

namespace hotlens::layers {

struct Beside {
  bool draws = false;  // numbers that were edited bound what the script draws at random
  std::vector<Sized> sized = {};
};

// The error: the first difference that is not followed. `was`: modules of the executed text; `is`: of the edited one.
std::expected<Beside, Unclear> edit_beside(const Followed& executed, const Followed& edited, const Modules& was, const Modules& is,
                                           const Idle& idle);

}  // namespace hotlens::layers
