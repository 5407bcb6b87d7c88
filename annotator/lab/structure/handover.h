// From a place of a program on: what one tensor was, another is.
#pragma once

#include <cstddef>

#include "annotator/lab/structure/draft.h"

namespace hotlens::lab {

// Where nothing lets the one go, the script keeps it and then keeps the other; what the script brings is not the step's to let go.
void hand_over(Draft& draft, TensorId was, TensorId is, std::size_t from);

}  // namespace hotlens::lab
