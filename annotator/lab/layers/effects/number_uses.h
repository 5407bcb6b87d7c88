// What methods do with a number that a module holds: uses that leave the recorded operators what they are but for sizes and rates.
#pragma once

#include <functional>
#include <string>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// Whether a use is, alone or in arithmetic, a size that the replay follows: of `view`, `reshape`, `split` and `expand`, of a tensor that is
// made (`torch.zeros(n, self.hidden)`, `x.new_zeros(…)`).
bool is_size(Node use);
// Whether a use is, alone or with a minus, where a tensor is cut (`x[:, :, : -self.cut]`), or by how much it is padded with nothing else
// but zeros beside it: `F.pad(x, (self.left, 0))`.
bool is_cut(Node use);
// `positions.unsqueeze(0)`, `rate.item()`: in a constructor a tensor of the module's own, whose shape is compared, or its numbers.
bool is_of_tensor(Node method);
// `widths.reverse()`: what a constructor makes of the list is compared.
bool changes_list(Node method);
// Between which numbers random ones are, `torch.randint(0, words, (8, 32))`: no size. Of an argument of a call, and of a use.
bool is_bound_of_random(Node call, Node given);
bool bounds_random(Node use);
// Whether a use of a real number is what a dropout drops, or what a tensor is multiplied with or divided by.
bool is_rate_or_factor(Node use);
// The function of the same file that gets it as an argument; null: there is none.
Node function_given(Node use);
// The only function of the same file that has this name; null: there is none.
Node function_named(Node name);
// Whether a function of the same file that gets it as an argument uses it as such a size alone, or as such a real number (`real`). `also`:
// what else a use may be there.
bool is_followed_in_function(Node use, bool real, const std::function<bool(Node)>& also);
// Whether a comparison with a number that stands there (`if repeats == 1:`) holds for both or for neither.
bool is_compared_alike(Node use, double one, double other);
// Whether a comparison of two numbers that the module holds (`self.inputs != self.outputs`) holds for both or for neither.
bool is_compared_alike(Node use, const Value& was, const Value& is);
// Where a function reads a name other than as such a size, or such a real number (`real`): what it does with it is not followed. Null:
// nowhere. `also`: what else a use may be.
Node other_use(Node node, const std::string& name, bool attribute, bool real = false, const std::function<bool(Node)>& also = {});

}  // namespace hotlens::layers
