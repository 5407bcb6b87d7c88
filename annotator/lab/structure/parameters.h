// Parameters that come and go with layers, and everything a step does with each of its parameters: the update with its states, gradients
// that are cleared or clipped, one after another or in lists.
//
// What is done with a new parameter is what is done with one like it, right after what is done with the one before it. Nothing here knows
// an optimizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/structure/draft.h"

namespace hotlens::lab {

// The reason where a step does something with its parameters that cannot be continued for another one.
using Reason = std::optional<std::string>;

// `likes`: parameters that may serve as the example, the best first. Its turn comes after `beside`; or where that had its own (`first`).
Reason update_also(Draft& draft, TensorId added, const std::vector<TensorId>& likes, TensorId beside, bool first);

// With its states, its gradient and its update. One that other layers use as well stays.
Reason remove_parameter(Draft& draft, TensorId parameter);

// The same of a layer that is there and never called: its parameter has no gradient, but its memory.
Reason leave_without_gradient(Draft& draft, TensorId parameter);

}  // namespace hotlens::lab
