#include "annotator/source/batch_size.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
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

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> of) {
  return std::ranges::find(of, word) != of.end();
}

// The call that holds tokens[at]: its bracket, and how many arguments end before the token.
struct CallAround {
  std::size_t open = 0, arguments = 0;
};

std::optional<CallAround> call_around(std::string_view text, const Tokens& tokens, std::size_t at) {
  std::size_t arguments = 0;
  int depth = 0;
  for (std::size_t i = at; i-- > 0;) {
    const std::string_view token = text_of(text, tokens[i]);
    if (is_any_of(token, {")", "]", "}"})) ++depth;
    if (token == "," && depth == 0) ++arguments;
    if (!is_any_of(token, {"(", "[", "{"}) || depth-- > 0) continue;
    const bool call = token == "(" && i > 0 && tokens[i - 1].kind == TokenKind::word;
    return call ? std::optional(CallAround{i, arguments}) : std::nullopt;
  }
  return std::nullopt;
}

// tokens[equals] is "=": what stands before it is called so, with an annotation or without, or is the item of such a key.
bool assigns_batch_size(std::string_view text, const Tokens& tokens, std::size_t equals) {
  if (equals < 1) return false;
  std::size_t name = equals - 1;
  if (equals >= 4 && text_of(text, tokens[name]) == "]" && text_of(text, tokens[name - 2]) == "[") --name;  // config["batch_size"]
  if (equals >= 3 && text_of(text, tokens[equals - 2]) == ":") name = equals - 3;
  const bool named = tokens[name].kind == TokenKind::word || tokens[name].kind == TokenKind::string;
  return named && is_name(text_of(text, tokens[name]));
}

// A flag of the command line (they come first) is such a name: `parser.add_argument("--batch-size", …`.
bool has_flag(std::string_view text, const Tokens& tokens, std::size_t open, std::size_t at) {
  for (std::size_t word = open + 1; word < at && (tokens[word].kind == TokenKind::string || text_of(text, tokens[word]) == ","); ++word) {
    if (is_name(text_of(text, tokens[word]))) return true;
  }
  return false;
}

// The call's value is assigned to such a name: `batch_size: int = pydantic.Field(8)`.
bool is_assigned(std::string_view text, const Tokens& tokens, std::size_t open) {
  std::size_t callee = open - 1;
  while (callee >= 2 && text_of(text, tokens[callee - 1]) == ".") callee -= 2;
  return callee >= 1 && text_of(text, tokens[callee - 1]) == "=" && assigns_batch_size(text, tokens, callee - 1);
}

// tokens[at] is the default of what the call around it declares, said with `default=` or as its first argument.
bool is_default(std::string_view text, const Tokens& tokens, std::size_t at, bool by_name) {
  const auto call = call_around(text, tokens, at);
  if (!call) return false;
  const std::string_view callee = text_of(text, tokens[call->open - 1]);
  if (by_name && is_any_of(callee, {"add_argument", "option", "Option"}) && has_flag(text, tokens, call->open, at)) return true;
  if (!by_name && call->arguments > 0) return false;
  return is_any_of(callee, {"field", "Field", "Option", "Argument", "attrib", "ib"}) && is_assigned(text, tokens, call->open);
}

bool is_second_of_loader(std::string_view text, const Tokens& tokens, std::size_t at) {
  const auto call = call_around(text, tokens, at);
  return call && call->arguments == 1 && text_of(text, tokens[call->open - 1]) == "DataLoader";
}

// What follows belongs to the number: `8 * world`.
bool goes_on(std::string_view text, const Tokens& tokens, std::size_t at) {
  constexpr std::array<std::string_view, 6> kEnds{",", ")", ";", ":", "]", "}"};
  return at + 1 < tokens.size() && std::ranges::find(kEnds, text_of(text, tokens[at + 1])) == kEnds.end();
}

// Whether what stands before the offset may be what sets a size: digits stand in a text far more often than one is set.
bool may_set(std::string_view text, std::size_t at) {
  const std::size_t before = text.substr(0, at).find_last_not_of(" \t\r\n");
  return before != std::string_view::npos && std::string_view("=:,(").contains(text[before]);
}

// tokens[at] is a number: `name = 8`, `name: int = 8`, `"name": 8`, `default=8` of a flag, `DataLoader(data, 8)`.
bool sets_batch_size(std::string_view text, const Tokens& tokens, std::size_t at) {
  if (at < 2 || goes_on(text, tokens, at)) return false;
  const std::string_view before = text_of(text, tokens[at - 1]), word = text_of(text, tokens[at - 2]);
  if (before == ":") return tokens[at - 2].kind == TokenKind::string && is_name(word);
  if (before == "=") return assigns_batch_size(text, tokens, at - 1) || (word == "default" && is_default(text, tokens, at, true));
  return (before == "(" && is_default(text, tokens, at, false)) || (before == "," && is_second_of_loader(text, tokens, at));
}

// Of a file of settings: what stands before the value, with its separator.
bool names_batch_size(std::string_view line) {
  constexpr std::string_view kBlank = " \t", kQuotes = "\"'";
  const auto without = [](std::string_view from, std::string_view what) { return from.substr(0, from.find_last_not_of(what) + 1); };
  line = without(line, kBlank);
  if (!line.ends_with(':') && !line.ends_with('=')) return false;
  line = without(line.substr(0, line.size() - 1), kBlank);
  const std::string_view quotes = without(line, kQuotes);
  const std::size_t begin = quotes.find_last_of("{,\"' \t.");
  return is_name(begin == std::string_view::npos ? quotes : quotes.substr(begin + 1)) && !line.contains('#');
}

}  // namespace

std::optional<Range> batch_size_number(const Tree& tree, std::int64_t size) {
  const Tree::Data& data = tree.data();
  const std::string digits = std::to_string(size);
  std::optional<std::uint32_t> found;
  for (std::size_t at = data.text.find(digits); at != std::string::npos; at = data.text.find(digits, at + digits.size())) {
    if (!may_set(data.text, at)) continue;
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

std::optional<Range> batch_size_in_settings(std::string_view text, std::int64_t size) {
  constexpr std::string_view kAfter = ",}]#\r ";
  const std::string digits = std::to_string(size);
  std::optional<Range> found;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    for (std::size_t at = line.find(digits); at != std::string_view::npos; at = line.find(digits, at + digits.size())) {
      const std::size_t end = at + digits.size();
      if ((end < line.size() && !kAfter.contains(line[end])) || !names_batch_size(line.substr(0, at))) continue;
      if (found) return std::nullopt;
      found = Range{{number, static_cast<std::uint32_t>(at)}, {number, static_cast<std::uint32_t>(end)}};
    }
  }
  return found;
}

}  // namespace hotlens::source
