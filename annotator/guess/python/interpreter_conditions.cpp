// Conditions that the arguments of a constructor decide.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

std::string without_blanks(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](unsigned char c) { return std::isspace(c) != 0; });
  return out;
}

// Whether a statement gives the name another value, also by `+=`, as a loop's variable or inside an expression.
bool assigns(Node statement, std::string_view name) {
  bool found = false;
  walk(statement, [&](Node node) {
    const bool gives = node.is("assignment") || node.is("augmented_assignment") || node.is("for_statement") || node.is("named_expression");
    const Node target = gives ? node.field(node.is("named_expression") ? "name" : "left") : Node{};
    found = found || (target && target.text() == name) ||
            std::ranges::any_of(target.children(), [&](const Node& one) { return one.text() == name; });
    return !found;
  });
  return found;
}

// `left op right`; null nodes for what is no comparison of two.
struct Comparison {
  Node left, right;
  std::string op;
};

Comparison comparison_of(Node node) {
  const std::vector<Node> sides = node.is("comparison_operator") ? node.children() : std::vector<Node>{};
  if (sides.size() != 2) return {};
  const char* const begin = sides[0].text().data() + sides[0].text().size();
  return {sides[0], sides[1], without_blanks({begin, static_cast<std::size_t>(sides[1].text().data() - begin)})};
}

std::optional<std::int64_t> number_in(const Value& value) {
  std::int64_t number = 0;
  const char *const begin = value.name.data(), *const end = begin + value.name.size();
  const auto [read, error] = std::from_chars(begin, end, number);
  return value.kind == Kind::constant && read == end && error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<bool> Interpreter::truth(Node condition) {
  if (!condition || e_.nesting_ >= Evaluator::kNesting) return std::nullopt;
  const Temporarily deeper(e_.nesting_, e_.nesting_ + 1);
  if (condition.is("comparison_operator")) return compares(condition);
  if (condition.is("parenthesized_expression")) return truth(condition.child());
  if (condition.is("not_operator")) {
    const std::optional<bool> inner = truth(condition.child());
    return inner ? std::optional(!*inner) : inner;
  }
  if (!condition.is("boolean_operator")) return is_true(condition);
  const bool decides = condition.field("operator").text() == "or";  // the value of either side that decides alone
  const std::optional<bool> a = truth(condition.field("left")), b = truth(condition.field("right"));
  if (a == decides || b == decides) return decides;
  return a && b ? std::optional(!decides) : std::nullopt;
}

std::optional<bool> Interpreter::is_true(Node name) {
  const Value* value = settled(name);
  if (value == nullptr || value->kind == Kind::instance) return std::nullopt;  // an empty container is false
  if (value->kind == Kind::text) return !value->name.empty();
  return value->kind != Kind::constant || (value->name != "None" && value->name != "False" && value->name != "0");
}

std::optional<bool> Interpreter::compares(Node comparison) {
  const Comparison sides = comparison_of(comparison);
  const Value *left = settled(sides.left), *right = settled(sides.right);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const std::string& op = sides.op;
  const bool same = op == "is" || op == "==", other = op == "isnot" || op == "!=";
  const auto is_none = [](const Value* value) { return value->kind == Kind::constant && value->name == "None"; };
  if ((same || other) && (is_none(left) || is_none(right))) return (is_none(left) == is_none(right)) == same;
  const std::optional<std::int64_t> a = number_in(*left), b = number_in(*right);
  const bool texts = left->kind == Kind::text && right->kind == Kind::text;
  if ((op == "==" || op == "!=") && (texts || (a && b))) return (left->name == right->name) == same;
  if (!a || !b) return std::nullopt;
  if (op == "<") return *a < *b;
  if (op == "<=") return *a <= *b;
  if (op == ">") return *a > *b;
  if (op == ">=") return *a >= *b;
  return std::nullopt;
}

const Value* Interpreter::settled(Node name) {
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

}  // namespace hotlens::guess
