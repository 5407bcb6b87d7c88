// The normal form of a statement: its tokens as far as they mean something.
//
// Two statements with the same normal form differ only in what a formatter may change: blanks, comments, line breaks, the quotes of
// strings, the case of their prefix and of hexadecimal escapes, trailing commas, parentheses without which the syntax tree is the same, the
// case of numbers and zeros around their point, the blanks of a docstring. One-element tuples keep their comma.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "annotator/source/outline/lexer.h"

namespace hotlens::source {

struct NormalToken {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t hash = 0;
};

using Tokens = std::vector<Token>;
using NormalTokens = std::vector<NormalToken>;

NormalTokens normal_form(std::string_view text, std::span<const Token> tokens);
// All tokens in [begin, end) of the text, line ends left out.
Tokens tokens_between(std::string_view text, std::uint32_t begin, std::uint32_t end);

std::uint64_t mix(std::uint64_t seed, std::uint64_t value);
std::uint64_t hash_of(std::string_view bytes);
std::uint64_t hash_of(std::span<const NormalToken> tokens);

}  // namespace hotlens::source
