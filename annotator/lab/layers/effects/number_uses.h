// What methods do with a number that a module holds: uses that leave the recorded operators what they are but for sizes and rates.
#pragma once

#include <functional>
#include <string>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// Whether a use is, alone or in arithmetic, a size that the replay follows: of `view`, `reshape`, `split` and `expand`, of a tensor that is
// made (`torch.zeros(n, self.hidden)`, `x.new_zeros(…)`).
bool is_size(Node use);
// Whether a use of a real number is what a dropout drops, or what a tensor is multiplied with or divided by.
bool is_rate_or_factor(Node use);
// Where a function reads a name other than as such a size, or such a real number (`real`): what it does with it is not followed. Null:
// nowhere. `also`: what else a use may be.
Node other_use(Node node, const std::string& name, bool attribute, bool real = false, const std::function<bool(Node)>& also = {});

}  // namespace hotlens::layers
