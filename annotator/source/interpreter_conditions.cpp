// Conditions on the index of a loop: `if i == 0`, `if i < len(widths) - 1`, and what they leave of the loop's passes.
#include <algorithm>
#include <array>
#include <cctype>

#include "annotator/source/interpreter.h"

namespace hotlens::source {
namespace {

constexpr Passes kFirst = kOnlyPass | kFirstPass, kLast = kOnlyPass | kLastPass;

std::string without_blanks(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](unsigned char c) { return std::isspace(c) != 0; });
  return out;
}

// "n-1" where a loop counts to "n", however it is put in parentheses.
bool is_one_less(std::string_view text, std::string_view count) {
  while (text.size() > 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  return !count.empty() && text.size() == count.size() + 2 && text.starts_with(count) && text.ends_with("-1");
}

Passes rest(Passes of) {
  return kEveryPass & static_cast<Passes>(~of);
}

std::string_view mirrored(std::string_view op) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPairs{{{"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}}};
  const auto* const found = std::ranges::find(kPairs, op, &std::pair<std::string_view, std::string_view>::first);
  return found != kPairs.end() ? found->second : op;
}

}  // namespace

// A loop over `range(n)` or `enumerate(items)` whose variable counts the passes: gives it its value.
void Interpreter::count_passes(Node target, Node iterable, Evaluator::Loop& loop) {
  if (!target || !iterable || !iterable.is("call")) return;
  const Node function = iterable.field("function"), list = iterable.field("arguments");
  if (!function || !list || !function.is("identifier")) return;
  const std::vector<Node> given = list.children(), parts = target.children();
  Node index;
  if (function.text() == "range" && target.is("identifier")) {
    if (given.size() == 1) loop.first = "0";
    if (given.size() == 2 && given.front().is("integer")) loop.first = given.front().text();
    if (!loop.first.empty()) loop.count = without_blanks(given.back().text());
    index = target;
  } else if (function.text() == "enumerate" && given.size() == 1 && parts.size() == 2 && parts.front().is("identifier")) {
    loop.first = "0";
    loop.count = "len(" + without_blanks(given.front().text()) + ")";
    index = parts.front();
  }
  if (loop.first.empty()) return;
  loop.index = e_.add({.kind = Value::Kind::constant});
  frame_.scope->names[std::string(index.text())] = loop.index;
}

Interpreter::Outcomes Interpreter::outcomes(Node condition, const Evaluator::Loop& loop) {
  if (!condition || loop.index == kUnknown || e_.nesting_ >= Evaluator::kNesting) return {};
  ++e_.nesting_;
  const Outcomes found = outcomes_inside(condition, loop);
  --e_.nesting_;
  return found;
}

Interpreter::Outcomes Interpreter::outcomes_inside(Node condition, const Evaluator::Loop& loop) {
  const std::vector<Node> parts = condition.children();
  if (condition.is("comparison_operator")) return compared(condition, loop);
  if (condition.is("identifier")) {
    if (loop.first != "0" || identifier(condition) != loop.index) return {};
    return {.yes = rest(kFirst), .no = kFirst};
  }
  if (condition.is("parenthesized_expression") && parts.size() == 1) return outcomes(parts.front(), loop);
  if (condition.is("not_operator") && parts.size() == 1) {
    const Outcomes inner = outcomes(parts.front(), loop);
    return {.yes = inner.no, .no = inner.yes};
  }
  if (!condition.is("boolean_operator") || parts.size() != 2) return {};
  const Outcomes a = outcomes(parts[0], loop), b = outcomes(parts[1], loop);
  const auto both = [](Passes x, Passes y) { return static_cast<Passes>(x & y); };
  const auto either = [](Passes x, Passes y) { return static_cast<Passes>(x | y); };
  if (condition.field("operator").text() == "and") return {.yes = both(a.yes, b.yes), .no = either(a.no, b.no)};
  return {.yes = either(a.yes, b.yes), .no = both(a.no, b.no)};
}

Interpreter::Outcomes Interpreter::compared(Node comparison, const Evaluator::Loop& loop) {
  const std::vector<Node> sides = comparison.children();
  if (sides.size() != 2) return {};
  const char* const begin = sides[0].text().data() + sides[0].text().size();
  const std::string between = without_blanks({begin, static_cast<std::size_t>(sides[1].text().data() - begin)});
  const auto is_index = [&](const Node& side) { return side.is("identifier") && identifier(side) == loop.index; };
  const bool left = is_index(sides[0]);
  if (left == is_index(sides[1])) return {};
  const std::string_view op = left ? std::string_view(between) : mirrored(between);
  const std::string other = without_blanks(sides[left ? 1 : 0].text());
  const auto when = [](Passes passes) { return Outcomes{.yes = passes, .no = rest(passes)}; };
  if (other == loop.first) {
    if (op == "==" || op == "<=") return when(kFirst);
    if (op == "!=" || op == ">") return when(rest(kFirst));
  }
  if (other == "1" && loop.first == "0") {
    if (op == "<") return when(kFirst);
    if (op == ">=") return when(rest(kFirst));
  }
  if (is_one_less(other, loop.count)) {
    if (op == "==" || op == ">=") return when(kLast);
    if (op == "!=" || op == "<") return when(rest(kLast));
  }
  return {};
}

Interpreter::Decisions::Decisions(Interpreter& at, bool conditions) : at_(at), after_(at.e_.loops_.size(), 0), decided_(conditions) {
  for (const Evaluator::Loop& loop : at.e_.loops_) open_.push_back(loop.passes);
}

void Interpreter::Decisions::enter(Node condition) {
  bool decided = !condition;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Evaluator::Loop& loop = at_.e_.loops_[i];
    const Outcomes found = condition ? at_.outcomes(condition, loop) : Outcomes{};
    loop.passes = open_[i] & found.yes;
    open_[i] &= found.no;
    decided = decided || found.decided();
  }
  decided_ = decided_ && decided;
  at_.e_.undecided_ += decided_ ? 0 : 1;
}

void Interpreter::Decisions::leave(bool stopped) {
  at_.e_.undecided_ -= decided_ ? 0 : 1;
  for (std::size_t i = 0; !stopped && i < after_.size(); ++i) after_[i] |= at_.e_.loops_[i].passes;
}

void Interpreter::Decisions::finish(bool exhaustive) {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    at_.e_.loops_[i].passes = exhaustive ? after_[i] : static_cast<Passes>(after_[i] | open_[i]);
  }
}

}  // namespace hotlens::source
