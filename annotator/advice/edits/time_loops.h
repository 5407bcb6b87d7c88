// Loops over time in a text: `for t in range(…):`, what they take `x[t]` of, and whether that is certainly a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/advice/edits/syntax.h"

namespace hotlens::advice {

// `for t in range(…):`, also backwards.
struct Loop {
  TSNode node, body;
  std::string_view variable;
};

// `x[:, t]` of a name: which dimension t is.
struct Step {
  std::string_view name;
  int dim = 0;
};

std::vector<Loop> loops(const PythonText& text);

// Nullopt: the node is no such step.
std::optional<Step> step_of(const PythonText& text, TSNode node, std::string_view variable);

// What the function around the loop tells of a name: it is used as only tensors are, it is a list, or neither is certain.
enum class Known : std::uint8_t { nothing, tensor, list };
Known known_of(const PythonText& text, const Loop& loop, std::string_view name);

// One that the text does not use, as near to this one as can be.
std::string fresh_name(const PythonText& text, std::string name);

}  // namespace hotlens::advice
