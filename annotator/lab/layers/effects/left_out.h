// Calls that an edit leaves out of a function that gives each result a name of its own: `normed = self.norm(x)` is gone, and what took
// `normed` takes `x`.
#pragma once

#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// The executed text as if such a result had the name of what the call takes, so that the call is one among others that is gone. Names that
// something else uses afterwards stay what they are.
Sources with_names_of_arguments(const Sources& executed, const Sources& edited);

}  // namespace hotlens::layers
