// Operators and tensors of a layer of torch.nn that the recorded step does not have: what its forward calls, as torch.nn writes it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/structure/draft.h"

namespace hotlens::layers {

// A parameter or buffer of a layer, by its name within it.
struct Held {
  std::string name;
  Shape shape;
  bool parameter = true;
  bool whole = false;  // a counter
};

// The error: what of the layer is not known.
std::expected<std::vector<Held>, std::string> held_by(const Value& layer);

struct Written {
  std::vector<lab::Operator> operators;
  lab::TensorId out = lab::kNoTensor;
};

// `tensors`: what held_by() names, in that order. `like`: an operator beside it, for modes and stage.
std::expected<Written, std::string> write(const Value& layer, const std::vector<lab::TensorId>& tensors, lab::TensorId in,
                                          const lab::Operator& like, lab::Draft& draft);

}  // namespace hotlens::layers
