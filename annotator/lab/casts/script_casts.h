// What one text casts of its model, of what the loop hands over, and of the default type.
//
// A model is what has `.parameters()`; its batch, the names that its calls get; the loss, what has `.backward()`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/spans.h"

namespace hotlens::layers {

// Of a tensor that the loop hands to the model, or to the loss alone, and of what the model gives.
enum class CastOf : std::uint8_t { input, target, result };
struct GivenCast {
  std::string name, dtype;
  CastOf of = CastOf::input;
  bool in_call = false;  // `model(x.half())`: nobody holds the result when the call returns
};

struct Site {
  Node call;  // `x.to(torch.half)`, `torch.randn(8, dtype=torch.half)`
  Span part;  // that goes, for the cast to go: `.half()`, or an argument among others
  bool of_model = false;
  GivenCast given = {};
};

struct ScriptCasts {
  std::optional<std::string> model, standard;  // dtypes
  std::vector<Site> sites;
  std::vector<Node> statements;  // that set the default type
  bool late = false;             // tensors or models are made before that
  std::size_t models = 0;        // names of models
};

ScriptCasts casts_in(const Sources& sources);

}  // namespace hotlens::layers
