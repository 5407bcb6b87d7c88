// An attention that a function writes out, read back from its text: `softmax(q @ k.transpose(-2, -1) * scale + mask) @ v`, in one
// expression or over statements of one block.
//
// What the formula computes on the way is used nowhere else in the function, and nothing that it reads changes until its last product.
#pragma once

#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/advice/edits/syntax.h"

namespace hotlens::advice {

struct WrittenAttention {
  TSNode product;                      // the second one
  std::vector<TSNode> statements;      // that are needed no more, each of the block
  std::string query, key, value;       // as expressions
  std::optional<std::string> mask;     // true where a score counts, or added
  std::optional<std::string> dropout;  // a probability
  std::optional<std::string> scale;    // absent: one over the root of the last dimension
};

// Of a product; nullopt where it is no attention's. The error: why it stays. `dropouts`: names of the class's layers that drop;
// `only_softmax`: no other one is in that code, so it is the one of the recorded step.
std::optional<std::expected<WrittenAttention, std::string>> written_attention(const PythonText& text, TSNode product,
                                                                              const std::set<std::string>& dropouts, bool only_softmax);

bool is_softmax(const PythonText& text, TSNode node);
bool is_product(const PythonText& text, TSNode node);

}  // namespace hotlens::advice
