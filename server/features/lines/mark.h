// A line that a client points at among its diagnostics.
#pragma once

#include <string>

#include "annotator/advice/suggestion.h"

namespace hotlens::features {

struct Mark {
  advice::LineMark at;  // in the text that ran
  std::string code;     // "data-bound", "no_grad"
  bool limits = false;  // it is what limits the step
  std::string message;  // "Data-bound: the step gets its batch here, 30.0 ms an update, 63% of the loop."
};

}  // namespace hotlens::features
