// An attention that is written out, read back from its operators: product, scale, masks, softmax, dropout, product.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <vector>

#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/kinds.h"

namespace hotlens::lab {

// The formula of one attention, as arguments of the fused operator.
struct Attention {
  std::vector<std::size_t> replaced;  // in order; the last one is the second product
  std::vector<Operator> operators;
  std::vector<TensorId> used;  // which must be there until then
  std::size_t softmax = 0;
  bool drops = false;
};

// Around a softmax of the program, in which ids are taken for what the fused operator needs on the way. Nullopt where it is of no
// attention, an error where the fused operator does something else.
std::optional<std::expected<Attention, NotHere>> attention_around(Program& program, const Dataflow& flow, std::size_t softmax);

}  // namespace hotlens::lab
