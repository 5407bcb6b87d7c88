#include "annotator/source/batch_size.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "annotator/source/outline/normal_form.h"
#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {
namespace {

// "--train-batch-size" as "batchsize": what is left of a name for a batch size is one of the table below.
std::string core_of(std::string_view name) {
  std::string core;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) core += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view prefix : {"per", "device", "gpu", "training", "train"}) {
    if (core.starts_with(prefix)) core.erase(0, prefix.size());
  }
  return core;
}

bool is_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"batchsize", "batch", "bs", "bsz"};
  return std::ranges::find(kNames, core_of(name)) != kNames.end();
}

// `parser.add_argument("--batch-size", …, default=8)`: of the call around the token at `at`, a flag (they
// come first) that is such a name.
bool is_default_of_flag(std::string_view text, const Tokens& tokens, std::size_t at) {
  std::size_t open = at;
  for (int depth = 0; open > 0; --open) {
    const std::string_view token = text_of(text, tokens[open - 1]);
    if (token == ")" || token == "]" || token == "}") ++depth;
    if ((token == "(" || token == "[" || token == "{") && depth-- == 0) break;
  }
  if (open < 2 || text_of(text, tokens[open - 2]) != "add_argument") return false;
  for (std::size_t word = open; word < at && (tokens[word].kind == TokenKind::string || text_of(text, tokens[word]) == ","); ++word) {
    if (is_name(text_of(text, tokens[word]))) return true;
  }
  return false;
}

// What follows belongs to the number: `8 * world`.
bool goes_on(std::string_view text, const Tokens& tokens, std::size_t at) {
  constexpr std::array<std::string_view, 6> kEnds{",", ")", ";", ":", "]", "}"};
  return at + 1 < tokens.size() && std::ranges::find(kEnds, text_of(text, tokens[at + 1])) == kEnds.end();
}

// Whether what stands before the offset on its line is `=`: digits stand in a text far more often than a size is set.
bool follows_equals(std::string_view text, std::size_t at) {
  const std::size_t before = text.substr(0, at).find_last_not_of(" \t");
  return before != std::string_view::npos && text[before] == '=';
}

// tokens[at] is a number: `name = 8`, `name: int = 8`, `default=8` of a flag.
bool sets_batch_size(std::string_view text, const Tokens& tokens, std::size_t at) {
  if (at < 2 || text_of(text, tokens[at - 1]) != "=" || goes_on(text, tokens, at)) return false;
  std::size_t name = at - 2;
  if (name >= 2 && text_of(text, tokens[name - 1]) == ":") name -= 2;
  if (tokens[name].kind != TokenKind::word) return false;
  const std::string_view word = text_of(text, tokens[name]);
  return is_name(word) || (word == "default" && is_default_of_flag(text, tokens, at));
}

}  // namespace

std::optional<Range> batch_size_number(const Tree& tree, std::int64_t size) {
  const Tree::Data& data = tree.data();
  const std::string digits = std::to_string(size);
  std::optional<std::uint32_t> found;
  for (std::size_t at = data.text.find(digits); at != std::string::npos; at = data.text.find(digits, at + digits.size())) {
    if (!follows_equals(data.text, at)) continue;
    const std::uint32_t index = statement_at(data.outline, static_cast<std::uint32_t>(at));
    if (index == kNoStatement) continue;
    const Statement& statement = data.outline.statements[index];
    const Tokens tokens = tokens_between(data.text, statement.begin, statement.end);
    const auto token = std::ranges::find(tokens, static_cast<std::uint32_t>(at), &Token::begin);
    if (token == tokens.end() || token->kind != TokenKind::number || text_of(data.text, *token) != digits) continue;
    if (!sets_batch_size(data.text, tokens, static_cast<std::size_t>(token - tokens.begin()))) continue;
    if (found) return std::nullopt;
    found = token->begin;
  }
  if (!found) return std::nullopt;
  const Position begin = position_of(data.outline, *found);
  return Range{begin, {begin.line, begin.column + static_cast<std::uint32_t>(digits.size())}};
}

}  // namespace hotlens::source
