#include "annotator/lab/layers/match/conditions.h"

#include <string>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

Ref of_self(Node node, const Holding& held) {
  const bool own = node.is("attribute") && node.field("object").text() == "self";
  return own ? held(node.field("attribute").text()) : nullptr;
}

std::optional<double> number(Node node, const Holding& held) {
  if (node.is("integer") || node.is("float")) return literal_number(node);
  const Ref value = of_self(node, held);
  return value == nullptr ? std::nullopt : real_of(*value);
}

std::optional<std::string> text(Node node, const Holding& held) {
  const std::string_view words = node.text();
  if (node.is("string") && words.size() >= 2 && (words[0] == '"' || words[0] == '\''))
    return std::string(words.substr(1, words.size() - 2));
  const Ref value = of_self(node, held);
  return value != nullptr && value->kind == Kind::text ? std::optional(value->text) : std::nullopt;
}

std::optional<bool> is_true(const Ref& value) {
  if (value->kind == Kind::none) return false;
  if (value->kind == Kind::boolean || value->kind == Kind::integer) return value->integer != 0;
  if (value->kind == Kind::real) return value->real != 0;
  if (value->kind == Kind::text) return !value->text.empty();
  return is_module(value) && !is_container(value->layer) ? std::optional(true) : std::nullopt;  // of a container its length decides
}

std::optional<bool> comparison(Node condition, const Holding& held) {
  const auto parts = condition.children();
  if (parts.size() != 2) return std::nullopt;
  const std::string_view sign = condition.field("operators").text();
  if (parts[1].is("none") && (sign == "is" || sign == "is not")) {
    const Ref value = of_self(parts[0], held);
    if (value == nullptr || value->kind == Kind::unknown) return std::nullopt;
    return (value->kind == Kind::none) == (sign == "is");
  }
  if (const auto one = text(parts[0], held), other = text(parts[1], held); one && other && (sign == "==" || sign == "!="))
    return (*one == *other) == (sign == "==");
  const auto one = number(parts[0], held), other = number(parts[1], held);
  return one && other ? compares(sign, *one, *other) : std::nullopt;
}

}  // namespace

std::optional<bool> compares(std::string_view sign, double one, double other) {
  if (sign == "==") return one == other;
  if (sign == "!=") return one != other;
  if (sign == "<") return one < other;
  if (sign == "<=") return one <= other;
  if (sign == ">") return one > other;
  return sign == ">=" ? std::optional(one >= other) : std::nullopt;
}

std::optional<bool> holds(Node condition, const Holding& held) {
  if (condition.is("parenthesized_expression") && condition.children().size() == 1) return holds(condition.children()[0], held);
  if (condition.is("not_operator")) {
    const auto inner = holds(condition.field("argument"), held);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (condition.is("boolean_operator")) {
    const bool decides = condition.field("operator").text() == "or";  // one that is so decides
    const auto one = holds(condition.field("left"), held), other = holds(condition.field("right"), held);
    if (one == decides || other == decides) return decides;
    return one && other ? std::optional(!decides) : std::nullopt;
  }
  if (condition.is("comparison_operator")) return comparison(condition, held);
  const Ref value = of_self(condition, held);
  return value == nullptr ? std::nullopt : is_true(value);
}

}  // namespace hotlens::layers
