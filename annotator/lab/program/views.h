// Literal sizes of `view` and its like: which dimensions of a tensor become which, and what each number is where these are others now.
#pragma once

#include "annotator/lab/program/follow.h"

namespace hotlens::lab {

// See follow(). Throws UnknownSize.
bool follow_view(Operator& op, const Sizes& was, const Sizes& is, const Around& around);

// What sizes, whose product is that of `in_was`, are where those are `in_is` now. Throws UnknownSize.
Sizes resolved(const Sizes& literals, const Sizes& in_was, const Sizes& in_is, const Numbers& numbers);

}  // namespace hotlens::lab
