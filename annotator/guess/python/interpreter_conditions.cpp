// Conditions that the arguments of a constructor decide.
#include <algorithm>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

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

bool is_none(const Value& value) {
  return value.kind == Kind::constant && value.name == "None";
}

bool is_number(const Value& value) {
  return value.kind == Kind::constant && value.name.find_first_not_of("0123456789") == std::string::npos;
}

// Nothing where only running tells.
std::optional<bool> are_same(const Value& a, const Value& b) {
  const bool plain = a.kind == b.kind && (a.kind == Kind::constant || a.kind == Kind::text);
  if (plain && a.name == b.name) return true;
  const bool differ = is_none(a) != is_none(b) || (plain && a.kind == Kind::text) || (is_number(a) && is_number(b));
  return differ ? std::optional(false) : std::nullopt;
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

// `left is right`, `left != right`
std::optional<bool> Interpreter::compares(Node comparison) {
  const std::vector<Node> sides = comparison.children();
  const std::string_view op = comparison.field("operators").text();
  const bool same = op == "is" || op == "==", other = op == "is not" || op == "!=";
  if (sides.size() != 2 || (!same && !other)) return std::nullopt;
  const Value *left = settled(sides[0]), *right = settled(sides[1]);
  const std::optional<bool> equal = left != nullptr && right != nullptr ? are_same(*left, *right) : std::nullopt;
  return equal ? std::optional(*equal == same) : equal;
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
