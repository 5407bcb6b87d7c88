#include "annotator/source/outline/normal_form.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "annotator/source/outline/parentheses.h"

namespace hotlens::source {
namespace {

// FNV-1a, 64 bits; the offset basis and the prime are the published ones.
constexpr std::uint64_t kBasis = 14695981039346656037ULL;
constexpr std::uint64_t kPrime = 1099511628211ULL;

std::uint64_t add_byte(std::uint64_t hash, char byte) {
  return (hash ^ static_cast<unsigned char>(byte)) * kPrime;
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

constexpr std::uint32_t kNone = 0xffffffff;

struct Bracket {
  std::uint32_t open = 0, close = kNone;
  std::uint32_t commas = 0;
  bool trailing_comma = false;
  bool call = false;  // arguments or parameters, where a trailing comma means nothing
};

// The brackets of one statement in order of opening; and, per token, what is left out.
class Normaliser {
 public:
  Normaliser(std::string_view text, std::span<const Token> tokens)
      : text_(text), tokens_(tokens), dropped_(tokens.size(), false), docstring_(is_docstring()) {}

  NormalTokens run() {
    find_brackets();
    drop_trailing_commas();
    for (const auto& [open, close] : needless_parentheses(text_, tokens_)) dropped_[open] = dropped_[close] = true;
    drop_whole_parentheses();
    drop_empty_bases();
    NormalTokens kept;
    kept.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!dropped_[i]) kept.push_back({tokens_[i].begin, tokens_[i].end, token_hash(tokens_[i])});
    }
    return kept;
  }

 private:
  std::string_view word(std::size_t i) const { return i < tokens_.size() ? text_of(text_, tokens_[i]) : std::string_view{}; }

  char op(std::size_t i) const {
    return tokens_[i].kind == TokenKind::op && tokens_[i].end - tokens_[i].begin == 1 ? text_[tokens_[i].begin] : '\0';
  }

  bool is_call(std::size_t open) const {
    if (open == 0 || op(open) != '(') return false;
    const Token& before = tokens_[open - 1];
    if (before.kind == TokenKind::word) return !is_keyword(word(open - 1)) || word(open - 1) == "import";
    char c = op(open - 1);
    return c == ')' || c == ']';
  }

  void find_brackets() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      char c = op(i);
      if (c == '(' || c == '[' || c == '{') {
        open.push_back(brackets_.size());
        brackets_.push_back({.open = static_cast<std::uint32_t>(i), .call = is_call(i)});
      } else if (!open.empty() && c == ',') {
        ++brackets_[open.back()].commas;
      } else if (!open.empty() && (c == ')' || c == ']' || c == '}')) {
        Bracket& bracket = brackets_[open.back()];
        bracket.close = static_cast<std::uint32_t>(i);
        bracket.trailing_comma = op(i - 1) == ',';
        open.pop_back();
      }
    }
  }

  // `a[0,]` and `(x,)` are not `a[0]` and `(x)`; `[x,]`, `{x,}` and `f(x,)` are what they are without the comma.
  bool comma_matters(const Bracket& bracket) const {
    if (bracket.commas > 1 || bracket.call) return false;
    char c = op(bracket.open);
    if (c == '(') return true;
    if (c == '{' || bracket.open == 0) return false;
    const Token& before = tokens_[bracket.open - 1];
    char close = op(bracket.open - 1);
    bool subscript = (before.kind == TokenKind::word && !is_keyword(word(bracket.open - 1))) || close == ')' || close == ']';
    return subscript;
  }

  void drop_trailing_commas() {
    for (Bracket& bracket : brackets_) {
      if (bracket.close == kNone || !bracket.trailing_comma || comma_matters(bracket)) continue;
      dropped_[bracket.close - 1] = true;
      --bracket.commas;
    }
  }

  std::string_view kept_before(std::size_t i) const {
    while (i > 0 && dropped_[i - 1]) --i;
    return i == 0 ? std::string_view{} : word(i - 1);
  }

  std::string_view kept_after(std::size_t i) const {
    do {
      ++i;
    } while (i < tokens_.size() && dropped_[i]);
    return word(i);
  }

  bool ends_with_augmented_assignment(std::string_view before) const {
    return before.size() >= 2 && before.back() == '=' && std::string_view("+-*/%&|^@<>").find(before.front()) != std::string_view::npos &&
           before != "<=" && before != ">=";
  }

  // Parentheses around all targets, or around the whole of what follows `=`, `return`, `if`, `in` of a for, … up to the end or the
  // header's colon: there a tuple needs none.
  bool whole(const Bracket& bracket) const {
    if (bracket.close == kNone || bracket.close == bracket.open + 1 || op(bracket.open) != '(') return false;
    std::string_view before = kept_before(bracket.open), after = kept_after(bracket.close), first = word(0);
    if (first == "async") first = word(1);
    bool loop = first == "for";
    if (before == "for" && loop) return after == "in";
    if (after == "=") return bracket.open == 0 || before == "=";  // targets
    if (!after.empty() && after != ":") return false;
    if (before == "=" || before == "return" || before == "del" || before == "raise" || ends_with_augmented_assignment(before))
      return after.empty();
    if (before == "import") return first == "from";
    if (before == "in") return loop;
    if ((first == "match" || first == "case") && bracket.open == 1) return bracket.commas == 0;
    return before == first && (before == "if" || before == "elif" || before == "while" || before == "with");
  }

  void drop_whole_parentheses() {
    std::uint32_t inside_until = 0;  // only at depth 0, counted without what was dropped
    for (const Bracket& bracket : brackets_) {
      if (bracket.open < inside_until || dropped_[bracket.open]) continue;
      if (whole(bracket)) {
        dropped_[bracket.open] = dropped_[bracket.close] = true;
      } else {
        inside_until = bracket.close == kNone ? kNone : bracket.close + 1;
      }
    }
  }

  void drop_empty_bases() {
    for (const Bracket& bracket : brackets_) {
      if (bracket.open >= 2 && word(bracket.open - 2) == "class" && bracket.close == bracket.open + 1) {
        dropped_[bracket.open] = dropped_[bracket.close] = true;
      }
    }
  }

  // Strings alone: a formatter indents them anew.
  bool is_docstring() const {
    return std::ranges::all_of(tokens_, [](const Token& token) { return token.kind == TokenKind::string; });
  }

  std::uint64_t string_hash(std::string_view literal) const {
    std::size_t quote = literal.find_first_of("'\"");
    std::uint64_t hash = add_byte(kBasis, '"');
    bool raw = false;
    for (char c : literal.substr(0, quote)) {
      raw = raw || lower(c) == 'r';
      if (lower(c) != 'u') hash = add_byte(hash, lower(c));
    }
    hash = add_byte(hash, '"');
    char mark = literal[quote];
    std::string_view body = literal.substr(quote);
    std::size_t width = body.size() >= 3 && body[1] == mark && body[2] == mark ? 3 : 1;
    body.remove_prefix(width);
    if (body.size() >= width && body.back() == mark) body.remove_suffix(width);
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (!raw && body[i] == '\\' && i + 1 < body.size()) {
        char next = body[i + 1];
        if (next != '\'' && next != '"') hash = add_byte(hash, '\\');
        hash = add_byte(hash, next);
        ++i;
        for (int digits = hex_digits(next); digits > 0 && i + 1 < body.size() && is_hex(body[i + 1]); --digits) {
          hash = add_byte(hash, lower(body[++i]));
        }
      } else if (body[i] != '\r' && !(docstring_ && is_blank(body[i]))) {  // Python reads "\r\n" as "\n"
        hash = add_byte(hash, body[i]);
      }
    }
    return hash;
  }

  // How many follow the letter of an escape.
  static int hex_digits(char letter) { return letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0; }

  std::uint64_t token_hash(const Token& token) const {
    std::string_view bytes = text_of(text_, token);
    if (token.kind == TokenKind::string) return string_hash(bytes);
    return token.kind == TokenKind::number ? number_hash(bytes) : hash_of(bytes);
  }

  // `1.` and `.5E3` are `1.0` and `0.5e3`.
  static std::uint64_t number_hash(std::string_view literal) {
    auto is_digit = [&](std::size_t i) { return i < literal.size() && std::isdigit(static_cast<unsigned char>(literal[i])); };
    std::uint64_t hash = kBasis;
    for (std::size_t i = 0; i < literal.size(); ++i) {
      const bool point = literal[i] == '.';
      if (point && i == 0) hash = add_byte(hash, '0');
      hash = add_byte(hash, lower(literal[i]));
      if (point && !is_digit(i + 1)) hash = add_byte(hash, '0');
    }
    return hash;
  }

  std::string_view text_;
  std::span<const Token> tokens_;
  std::vector<bool> dropped_;
  bool docstring_ = false;
  std::vector<Bracket> brackets_;
};

}  // namespace

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = kBasis;
  for (char c : bytes) hash = add_byte(hash, c);
  return hash;
}

// The finalizer of splitmix64 over both, so that order counts and equal values do not cancel.
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::span<const NormalToken> tokens) {
  std::uint64_t hash = tokens.size();
  for (const NormalToken& token : tokens) hash = mix(hash, token.hash);
  return hash;
}

NormalTokens normal_form(std::string_view text, std::span<const Token> tokens) {
  return Normaliser(text, tokens).run();
}

Tokens tokens_between(std::string_view text, std::uint32_t begin, std::uint32_t end) {
  Tokens tokens;
  std::string_view part = text.substr(0, end);
  for (Token token = next_token(part, begin); token.kind != TokenKind::end; token = next_token(part, token.end)) {
    if (token.kind != TokenKind::newline) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace hotlens::source
