// ReLUs of a program: which may write their result over what they get.
#pragma once

#include <cstddef>

#include "annotator/lab/whatif/dataflow.h"

namespace hotlens::lab {

bool is_relu(const Operator& op);  // also one in place

// Whether nobody needs what the operator gets: it was made in the step, by operators whose backward pass does not read their result, and
// nothing else reads it. As autograd would check it, but before the backward pass.
bool may_write_in_place(const Program& program, const Dataflow& flow, std::size_t at);

}  // namespace hotlens::lab
