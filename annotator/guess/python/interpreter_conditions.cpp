// Conditions on the index of a loop: `if i == 0`, `if i < len(widths) - 1`, and what they leave of the loop's passes.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
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

// Whether a statement gives the name another value, also by `+=`, as a loop's variable or inside an expression.
bool assigns(Node statement, std::string_view name) {
  std::vector<Node> open{statement};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    const bool gives = node.is("assignment") || node.is("augmented_assignment") || node.is("for_statement") || node.is("named_expression");
    if (const Node target = gives ? node.field(node.is("named_expression") ? "name" : "left") : Node{}) {
      if (target.text() == name) return true;
      for (const Node& one : target.children()) {
        if (one.text() == name) return true;
      }
    }
    const std::vector<Node> below = node.children();
    open.insert(open.end(), below.begin(), below.end());
  }
  return false;
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

std::optional<bool> Interpreter::truth(Node condition) {
  if (!condition || e_.nesting_ >= Evaluator::kNesting) return std::nullopt;
  ++e_.nesting_;
  const std::optional<bool> found = truth_inside(condition);
  --e_.nesting_;
  return found;
}

std::optional<bool> Interpreter::truth_inside(Node condition) {
  const std::vector<Node> parts = condition.children();
  if (condition.is("comparison_operator")) return truth_of_comparison(condition);
  if (condition.is("call")) return truth_of_call(condition);
  if (condition.is("parenthesized_expression") && parts.size() == 1) return truth(parts.front());
  if (condition.is("not_operator") && parts.size() == 1) {
    const std::optional<bool> inner = truth(parts.front());
    return inner ? std::optional(!*inner) : inner;
  }
  if (condition.is("boolean_operator") && parts.size() == 2) {
    const bool decides = condition.field("operator").text() == "or";  // the value of either side that decides alone
    const std::optional<bool> a = truth(parts[0]), b = truth(parts[1]);
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  const Value* value = settled(condition);
  if (value == nullptr || value->kind == Value::Kind::instance) return std::nullopt;  // an empty container is false
  if (value->kind == Value::Kind::text) return !value->name.empty();
  return value->kind != Value::Kind::constant || (value->name != "None" && value->name != "False" && value->name != "0");
}

// `isinstance(name, str)`
std::optional<bool> Interpreter::truth_of_call(Node call) {
  const Node function = call.field("function"), list = call.field("arguments");
  const std::vector<Node> given = function && list && function.text() == "isinstance" ? list.children() : std::vector<Node>{};
  if (given.size() != 2 || given[1].text() != "str") return std::nullopt;
  const Value* value = settled(given[0]);
  return value != nullptr ? std::optional(value->kind == Value::Kind::text) : std::nullopt;
}

std::optional<bool> Interpreter::truth_of_comparison(Node comparison) {
  const std::vector<Node> sides = comparison.children();
  if (sides.size() != 2) return std::nullopt;
  const char* const begin = sides[0].text().data() + sides[0].text().size();
  const std::string op = without_blanks({begin, static_cast<std::size_t>(sides[1].text().data() - begin)});
  const Value *left = settled(sides[0]), *right = settled(sides[1]);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const auto is_none = [](const Value* value) { return value->kind == Value::Kind::constant && value->name == "None"; };
  const bool same = op == "is" || op == "==";
  if ((same || op == "isnot" || op == "!=") && (is_none(left) || is_none(right))) return (is_none(left) == is_none(right)) == same;
  const auto number = [](const Value* value) {
    std::int64_t read = -1;
    const char *const first = value->name.data(), *const last = first + value->name.size();
    const auto [end, error] = std::from_chars(first, last, read);
    return value->kind == Value::Kind::constant && end == last && error == std::errc{} ? std::optional(read) : std::nullopt;
  };
  const std::optional<std::int64_t> a = number(left), b = number(right);
  const bool texts = left->kind == Value::Kind::text && right->kind == Value::Kind::text;
  if ((op == "==" || op == "!=") && (texts || (a && b))) return (left->name == right->name) == same;
  if (!a || !b) return std::nullopt;
  if (op == "<") return *a < *b;
  if (op == "<=") return *a <= *b;
  if (op == ">") return *a > *b;
  if (op == ">=") return *a >= *b;
  return std::nullopt;
}

const Value* Interpreter::settled(Node name) {
  using Kind = Value::Kind;
  const bool literal = name.is("string") || name.is("none") || name.is("true") || name.is("false") || name.is("integer");
  if (!literal && !name.is("identifier")) return nullptr;
  if (!literal) {
    // A later statement of the loop may have changed it since the first pass.
    for (Node up = name.parent(); up && !up.is("function_definition"); up = up.parent()) {
      if ((up.is("for_statement") || up.is("while_statement")) && assigns(up, name.text())) return nullptr;
      if (up.is("list_comprehension") || up.is("generator_expression") || up.is("lambda")) return nullptr;
    }
  }
  const std::vector<ValueId> values = e_.alternatives(literal ? evaluate(name) : identifier(name));
  if (values.size() != 1) return nullptr;
  const Value& value = e_.at(e_.object(values.front()));
  bool told = value.kind == Kind::type || value.kind == Kind::function;
  if (value.kind == Kind::constant) told = !value.name.empty();
  if (value.kind == Kind::text) told = value.name.find('*') == std::string::npos;
  if (value.kind == Kind::instance) told = value.type != kNoClass && value.trail != kNoTrail;
  if (value.kind == Kind::external) told = names_class(value.name) && value.name.starts_with("torch.nn.");
  return told ? &value : nullptr;
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

}  // namespace hotlens::guess
