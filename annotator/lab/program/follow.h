// Literal sizes of operators where the tensors around them have other sizes than when they were recorded: `view(8, 32, 96)` of what is now
// 128 wide. The recording has numbers where the source had `x.shape[2]`, `self.heads` or `-1`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

using Sizes = std::vector<std::int64_t>;
// Numbers that the module of an operator holds: as executed, and as edited.
using Numbers = std::vector<std::pair<std::int64_t, std::int64_t>>;

// What is around an operator: numbers that its module holds, and sizes of tensors that were used in the module before it, as recorded and
// now.
struct Around {
  Numbers numbers, sizes;
  bool held = false;       // the operator's first tensor is a parameter, a buffer, or a part of one
  bool explained = true;   // its sizes that are others now are those of other tensors in the module
  Numbers leading = {};    // of `sizes` those of first dimensions: a batch of four is no grid of four
  Numbers cuts = {};       // of the module's numbers those by which it cuts or pads tensors
  Numbers attention = {};  // of torch's MultiheadAttention: its heads, and how wide one is
};

// Whether it is followed by what its module holds, also where nothing is known of its first tensor when it was recorded: `x[:, :
// -self.cut]`.
bool cuts_or_pads(const Operator& op);

// `was`, `is`: the sizes of the operator's first tensor as recorded and now; of one that takes none, empty. True: a literal was changed.
// The error: why none can be told.
std::expected<bool, std::string> follow(Operator& op, const Sizes& was, const Sizes& is, const Around& around);

}  // namespace hotlens::lab
