// Which parentheses of a statement say nothing, by how strongly Python's operators bind.
//
// Parentheses around an expression are needless where the syntax tree is the same without them: `return (x)`, `f((a if b else c))`,
// `(a * b) + c`. Those of calls, parameters, tuples, generators, `yield` and `:=` are never among them, nor are those of a text that is no
// Python.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/source/outline/lexer.h"

namespace hotlens::source {

// Pairs (opening, closing), as indices into the tokens of one statement; all can be left out together. Linear.
std::vector<std::pair<std::uint32_t, std::uint32_t>> needless_parentheses(std::string_view text, std::span<const Token> tokens);

}  // namespace hotlens::source
