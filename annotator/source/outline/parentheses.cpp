#include "annotator/source/outline/parentheses.h"

#include <algorithm>
#include <array>

namespace hotlens::source {
namespace {

// From the loosest to the tightest, as in the expression grammar of Python's reference.
enum Strength : int {
  kNever,  // a comma, `for`, `yield`, `:=`: the parentheses belong to it
  kLambda,
  kTernary,
  kOr,
  kAnd,
  kNot,
  kComparison,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kSign,
  kPower,
  kAwait,
  kAtom,
  kKeep,  // nothing binds that tightly
};

struct Operator {
  std::string_view text;
  Strength strength;
};

constexpr std::array<Operator, 23> kOperators{
    {{"|", kBitOr},       {"^", kBitXor},     {"&", kBitAnd},     {"<<", kShift},      {">>", kShift},      {"+", kSum},
     {"-", kSum},         {"*", kProduct},    {"/", kProduct},    {"//", kProduct},    {"%", kProduct},     {"@", kProduct},
     {"**", kPower},      {"<", kComparison}, {">", kComparison}, {"<=", kComparison}, {">=", kComparison}, {"==", kComparison},
     {"!=", kComparison}, {"or", kOr},        {"and", kAnd},      {"in", kComparison}, {"is", kComparison}}};

Strength binary(std::string_view word) {
  const auto found = std::ranges::find(kOperators, word, &Operator::text);
  return found != kOperators.end() ? found->strength : kNever;
}

constexpr int tighter(Strength strength) {
  return static_cast<int>(strength) + 1;
}

class Finder {
 public:
  Finder(std::string_view text, std::span<const Token> tokens) : text_(text), tokens_(tokens) {}

  std::vector<std::pair<std::uint32_t, std::uint32_t>> run() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const char c = single(i);
      if (c == '(' || c == '[' || c == '{') {
        open_.push_back({.open = i, .group = c == '(' && !ends_value(i)});
      } else if (c == ')' || c == ']' || c == '}') {
        if (open_.empty()) return found;
        const Group group = open_.back();
        open_.pop_back();
        if (!group.group || c != ')' || i == group.open + 1) continue;
        if (group.loosest < std::max(wanted_before(group.open), wanted_behind(i))) continue;
        found.emplace_back(static_cast<std::uint32_t>(group.open), static_cast<std::uint32_t>(i));
        // Without its parentheses, what it holds stands in what is around it.
        if (!open_.empty()) open_.back().loosest = std::min(open_.back().loosest, group.loosest);
      } else if (!open_.empty()) {
        open_.back().loosest = std::min(open_.back().loosest, strength_of(i));
      }
    }
    return found;
  }

 private:
  struct Group {
    std::size_t open = 0;
    bool group = false;  // not of a call, a subscript or a display
    int loosest = kAtom;
  };

  std::string_view word(std::size_t i) const { return i < tokens_.size() ? text_of(text_, tokens_[i]) : std::string_view{}; }
  bool is(std::size_t i, TokenKind kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }
  char single(std::size_t i) const { return is(i, TokenKind::op) && word(i).size() == 1 ? word(i).front() : '\0'; }

  static bool is_word_operator(std::string_view word) { return is_keyword(word) || word == "as" || word == "async" || word == "case"; }

  // Whether an expression ends before token `i`, so that a bracket or sign there belongs to it.
  bool ends_value(std::size_t i) const {
    if (i == 0) return false;
    if (is(i - 1, TokenKind::word)) return !is_word_operator(word(i - 1));
    if (!is(i - 1, TokenKind::op)) return true;
    const char c = single(i - 1);
    return c == ')' || c == ']' || c == '}' || word(i - 1) == "...";
  }

  // How loosely a token inside brackets binds what stands beside it.
  int strength_of(std::size_t i) const {
    const std::string_view what = word(i);
    if (is(i, TokenKind::word)) {
      if (what == "lambda") return kLambda;
      if (what == "if" || what == "else") return kTernary;
      if (what == "not") return word(i + 1) == "in" || (i > 0 && word(i - 1) == "is") ? kComparison : kNot;
      if (what == "await") return kAwait;
      if (!is_word_operator(what)) return kAtom;
      return binary(what);
    }
    if (!is(i, TokenKind::op) || what == "." || what == "...") return kAtom;
    if (what == ":" && open_.back().loosest == kLambda) return kAtom;
    if (ends_value(i)) return binary(what);
    return what == "-" || what == "+" || what == "~" ? kSign : kNever;
  }

  // How tightly the parenthesised must bind for what stands before it.
  int wanted_before(std::size_t open) const {
    if (open == 0) return kLambda;
    const std::size_t before = open - 1;
    const std::string_view what = word(before);
    if (is(before, TokenKind::word)) {
      if (what == "else") return kTernary;
      if (what == "if") return before == 0 ? kLambda : tighter(kTernary);
      if (what == "await") return kAtom;
      if (what == "not") return before > 0 && word(before - 1) == "is" ? tighter(kComparison) : kNot;
      const Strength left = binary(what);
      return left != kNever ? tighter(left) : kLambda;
    }
    if (what == "@" && before == 0) return kLambda;  // a decorator
    if (!ends_value(before)) {
      if (what == "-" || what == "+" || what == "~") return kSign;
      if (what == "*" || what == "**") return kAtom;
    }
    if (what == "**") return kSign;
    const Strength left = binary(what);
    return left != kNever ? tighter(left) : kLambda;
  }

  int wanted_behind(std::size_t close) const {
    const std::size_t behind = close + 1;
    if (behind >= tokens_.size()) return kLambda;
    const std::string_view what = word(behind);
    if (is(behind, TokenKind::word)) {
      if (what == "if" || what == "else") return tighter(kTernary);
      if (what == "not") return tighter(kComparison);
      const Strength right = binary(what);
      if (right != kNever) return right == kComparison ? tighter(right) : right;
      return is_word_operator(what) ? kLambda : kKeep;
    }
    if (!is(behind, TokenKind::op)) return kKeep;
    if (what == "." && is(close - 1, TokenKind::number)) return kKeep;
    if (what == "." || what == "(" || what == "[") return kAtom;
    if (what == "**") return tighter(kPower);
    const Strength right = binary(what);
    if (right == kComparison) return tighter(right);
    return right != kNever ? static_cast<int>(right) : kLambda;
  }

  std::string_view text_;
  std::span<const Token> tokens_;
  std::vector<Group> open_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> needless_parentheses(std::string_view text, std::span<const Token> tokens) {
  return Finder(text, tokens).run();
}

}  // namespace hotlens::source
