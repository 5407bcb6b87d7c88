// Layers without tensors of their own, which call one operator.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::layers {

// `operator(x, argument…)`; arguments by their names in the constructor, with what torch.nn hands over where they are not given.
struct Simple {
  std::string_view layer, op, overload;
  std::vector<std::pair<std::string_view, lab::Value>> arguments;
};

// The value of an argument that must be given.
lab::Value required();

// Null: another layer, or one that is not known.
const Simple* simple(std::string_view layer);

}  // namespace hotlens::layers
