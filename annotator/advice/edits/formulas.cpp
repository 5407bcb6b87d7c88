// An expression that writes out what torch has a function for. It is told by its values: computed for a few numbers in place of its one
// name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/imports.h"
#include "annotator/lab/whatif/gelu.h"

namespace hotlens::advice {
namespace {

std::optional<double> literal(std::string_view digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

class Expression {
 public:
  Expression(const PythonText& text, std::string_view name, double value) : text_(text), name_(name), value_(value) {}

  std::optional<double> of(TSNode node) const {
    const std::string_view kind = type(node);
    if (kind == "parenthesized_expression") return of(ts_node_named_child(node, 0));
    if (kind == "integer" || kind == "float") return literal(text_.at(node));
    if (kind == "identifier") return text_.at(node) == name_ ? std::optional(value_) : constant(text_.resolved(text_.at(node)));
    if (kind == "attribute") return constant(text_.resolved(text_.at(node)));
    if (kind == "unary_operator") return negative(node);
    if (kind == "binary_operator") return binary(of(field(node, "left")), text_.at(field(node, "operator")), of(field(node, "right")));
    return kind == "call" ? called(node) : std::nullopt;
  }

 private:
  static std::optional<double> constant(std::string_view name) {
    const bool pi = name == "math.pi" || name == "torch.pi" || name == "numpy.pi";
    return pi ? std::optional(std::numbers::pi) : std::nullopt;
  }

  std::optional<double> negative(TSNode node) const {
    const auto value = of(field(node, "argument"));
    return value && text_.at(node).starts_with('-') ? std::optional(-*value) : std::nullopt;
  }

  static std::optional<double> binary(std::optional<double> left, std::string_view sign, std::optional<double> right) {
    if (!left || !right) return std::nullopt;
    if (sign == "+") return *left + *right;
    if (sign == "-") return *left - *right;
    if (sign == "*") return *left * *right;
    if (sign == "/") return *left / *right;
    return sign == "**" ? std::optional(std::pow(*left, *right)) : std::nullopt;
  }

  // torch.tanh(…), torch.pow(…, 3), math.sqrt(…); x.pow(3).
  std::optional<double> called(TSNode node) const {
    const TSNode callee = field(node, "function"), arguments = field(node, "arguments");
    std::vector<std::optional<double>> given;
    std::string name = text_.resolved(text_.at(callee));
    if (name.empty() && type(callee) == "attribute") {
      given.push_back(of(field(callee, "object")));
      name = "torch." + std::string(text_.at(field(callee, "attribute")));
    }
    each_child(arguments, [&](TSNode child) { given.push_back(of(child)); });
    if (given.empty() || std::ranges::any_of(given, [](const auto& one) { return !one; })) return std::nullopt;
    if (name == "torch.pow" && given.size() == 2) return std::pow(*given[0], *given[1]);
    if (given.size() != 1) return std::nullopt;
    if (name == "torch.tanh" || name == "torch.nn.functional.tanh") return std::tanh(*given[0]);
    return name == "math.sqrt" || name == "numpy.sqrt" ? std::optional(std::sqrt(*given[0])) : std::nullopt;
  }

  const PythonText& text_;
  std::string_view name_;
  double value_;
};

// `x` of `x.pow(3)`
bool is_object_of_call(TSNode name) {
  const TSNode attribute = ts_node_parent(name), call = ts_node_parent(attribute);
  return ts_node_eq(field(attribute, "object"), name) && type(call) == "call" && ts_node_eq(field(call, "function"), attribute);
}

// The name whose GELU the expression is; empty: it is none.
std::string_view gelu_of(const PythonText& text, TSNode node) {
  std::string_view name;
  bool one = true;
  each_node(node, [&](TSNode part) {
    const std::string_view around = type(ts_node_parent(part));
    const bool imported = !text.resolved(text.at(part)).empty();
    if (type(part) != "identifier" || imported || (around == "attribute" && !is_object_of_call(part))) return;
    one = one && (name.empty() || name == text.at(part));
    name = text.at(part);
  });
  if (!one || name.empty()) return {};
  return lab::computes_gelu([&](double x) { return Expression(text, name, x).of(node); }) ? name : std::string_view();
}

// The outermost expressions that are one, in order.
void find(const PythonText& text, TSNode node, std::vector<TSNode>& found) {
  if (type(node) == "binary_operator" && !gelu_of(text, node).empty()) return found.push_back(node);
  each_child(node, [&](TSNode child) { find(text, child, found); });
}

}  // namespace

Made gelu_tanh(const Script& script, std::span<const std::string> paths) {
  const std::set<std::string> classes = script.classes_of(paths);
  std::set<std::string> written;  // classes with an expression of their own; "": it is in no class
  ByPlace edits;
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    std::vector<TSNode> found;
    find(text, text.root(), found);
    for (const TSNode node : found) {
      const TSNode owner = around(node, "class_definition");
      const std::string name(ts_node_is_null(owner) ? "" : text.at(field(owner, "name")));
      if (!name.empty() && !classes.contains(name)) continue;
      std::string functions = name_at(text, "torch.nn.functional", span(node));
      if (functions.empty()) functions = "torch.nn.functional";
      written.insert(name);
      const Replacement call{span(node), fmt::format("{}.gelu({}, approximate=\"tanh\")", functions, gelu_of(text, node))};
      edits[file].emplace(call.span.begin, call);
    }
  }
  if (edits.empty()) return no("no single expression of the files that ran is the formula");
  for (const std::string& name : classes) {
    if (!written.contains(name) && !written.contains("")) return no(fmt::format("the formula of `{}` is no single expression", name));
  }
  return listed(std::move(edits), {"torch"});
}

}  // namespace hotlens::advice
