#include "annotator/lab/layers/effects/number_uses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/match/conditions.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

// `math.sqrt(n)`.
bool is_root(Node call) {
  const std::string_view name = call.field("function").text();
  return name == "math.sqrt" || name == "np.sqrt" || name == "sqrt" || name == "float";
}

bool each_use(Node function, std::string_view name, const std::function<bool(Node)>& holds) {
  bool all = true;
  for_each_name(function.field("body"), name, [&](Node one) { all = all && holds(one); });
  return all;
}

bool is_followed(Node use, bool real, int depth);
bool is_rate(Node use, int depth = 0);

// Of a local name that has it, whatever else it is given: each use is followed.
bool are_followed(Node assignment, bool real, int depth) {
  const Node left = assignment.field("left"), function = source::enclosing(assignment, "function_definition");
  if (depth > 3 || !function || !left.is("identifier")) return false;
  return each_use(function, left.text(), [&](Node one) {
    const Node above = one.parent();
    const bool given = (above.is("assignment") || above.is("augmented_assignment")) && above.field("left").id() == one.id();
    return given || (real && is_rate(one, depth + 1)) || is_followed(one, real, depth + 1);
  });
}

// Numbers, names and what is computed of them: no tensor.
bool is_number(Node node) {
  if (node.is("call")) return is_root(node);
  constexpr std::array<std::string_view, 7> kParts{"integer", "float",     "binary_operator",         "unary_operator",
                                                   "call",    "attribute", "parenthesized_expression"};
  if (std::ranges::find(kParts, node.kind()) == kParts.end()) return false;
  return node.is("attribute") || std::ranges::all_of(node.children(), is_number);
}

// Whether a number is, alone or in arithmetic, a size that the replay follows; or a real one (`real`: it is one already) that a tensor is
// multiplied with, which changes neither what is computed nor what is held.
bool is_followed(Node use, bool real, int depth) {
  constexpr std::array<std::string_view, 8> kMethods{"view",      "reshape",  "split",    "expand",
                                                     "new_zeros", "new_ones", "new_full", "new_empty"};
  constexpr std::array<std::string_view, 7> kFactories{"torch.zeros", "torch.ones", "torch.rand",  "torch.randn",
                                                       "torch.empty", "torch.full", "torch.arange"};
  constexpr std::array<std::string_view, 6> kWhole{"argument_list", "parenthesized_expression", "unary_operator", "list_splat", "tuple",
                                                   "list"};
  constexpr std::array<std::string_view, 3> kScales{"scale", "scaling", "softmax_scale"};
  bool scales = false, given_as_number = false;
  Node child = use;
  for (Node up = use.parent(); up; child = up, up = up.parent()) {
    if (up.is("argument_list") || up.is("keyword_argument")) given_as_number = is_number(child);
    if (std::ranges::find(kWhole, up.kind()) != kWhole.end()) continue;
    if (up.is("binary_operator")) {
      const std::string_view sign = up.field("operator").text();
      const bool power = sign == "**" && up.field("left").id() == child.id();
      if (sign == "**" && !power) return false;
      real = real || sign == "/" || (power && up.field("right").text().find('.') != std::string_view::npos);
      if (power && !real) return false;
      if (sign == "//" || sign == "%") real = false;
      const Node other = up.field("left").id() == child.id() ? up.field("right") : up.field("left");
      scales = scales || (real && (sign == "*" || sign == "/" || ((sign == "+" || sign == "-") && !is_number(other))));
      continue;
    }
    if (up.is("call") && is_root(up)) {
      real = true;
      continue;
    }
    if (up.is("conditional_expression") && up.children().size() == 3 && up.children()[1].id() != child.id()) continue;
    if (up.is("keyword_argument")) {
      if (real && std::ranges::find(kScales, up.field("name").text()) != kScales.end()) return true;
      continue;
    }
    if (up.is("call")) {
      const Node callee = up.field("function");
      if (real)
        return scales && !given_as_number && callee.id() != child.id() && callee.is("attribute") && !callee.text().starts_with("math.");
      if (callee.id() == child.id() || !callee.is("attribute")) return false;
      return std::ranges::find(kMethods, callee.field("attribute").text()) != kMethods.end() ||
             std::ranges::find(kFactories, callee.text()) != kFactories.end();
    }
    if (up.is("augmented_assignment"))
      return real && (up.text().find("*=") != std::string_view::npos || up.text().find("/=") != std::string_view::npos);
    if (real && scales && !is_number(child)) return up.is("assignment") || up.is("expression_list") || up.is("return_statement");
    return up.is("assignment") && up.field("left").id() != child.id() && are_followed(up, real, depth);
  }
  return false;
}

// What a method multiplies with, or how much a functional dropout drops: `F.dropout(x, self.p, self.training)`, `dropout_p=self.p if
// self.training else 0.0`.
bool is_rate(Node use, int depth) {
  constexpr std::array<std::string_view, 5> kFactors{"mul", "mul_", "div", "div_", "bernoulli_"};  // `x.mul(self.scale)`
  Node child = use;
  for (Node up = use.parent(); up; child = up, up = up.parent()) {
    if (up.is("conditional_expression") && up.children().size() == 3 && up.children()[0].id() == child.id()) continue;
    if (up.is("parenthesized_expression")) continue;
    if (up.is("keyword_argument") && (up.field("name").text() == "p" || up.field("name").text() == "dropout_p")) continue;
    if (up.is("assignment") && up.field("left").id() != child.id()) return are_followed(up, true, depth);
    if (!up.is("argument_list")) return false;
    const Node method = up.parent().field("function");
    if (method.is("attribute") && is_among(kFactors, method.field("attribute").text())) return true;
    const std::string_view callee = up.parent().field("function").text();
    const bool by_name = child.is("keyword_argument");
    const auto given = up.children();
    return callee.ends_with("dropout") ? by_name || (given.size() > 1 && given[1].id() == child.id())
                                       : by_name && callee.ends_with("scaled_dot_product_attention");
  }
  return false;
}

// `x.size()` of a tensor is no use of `self.size`.
bool is_method_of_other(Node node) {
  const Node call = node.parent();
  return node.is("attribute") && call.is("call") && call.field("function").id() == node.id() &&
         !node.field("object").text().starts_with("self");
}

}  // namespace

bool is_size(Node use) {
  return is_followed(use, false, 0);
}

bool is_cut(Node use) {
  Node whole = use;
  while (whole.parent().is("unary_operator") || whole.parent().is("parenthesized_expression")) whole = whole.parent();
  const Node above = whole.parent();
  if (above.is("slice")) return std::ranges::count(above.text(), ':') == 1;  // and no step
  const Node list = above.parent(), call = list.is("argument_list") ? list.parent() : Node{};
  if (!above.is("tuple") && !above.is("list")) return false;
  if (!call || !call.is("call") || list.children().size() != 2 || list.children()[1].id() != above.id()) return false;
  const std::string_view callee = call.field("function").text();
  return (callee == "F.pad" || callee.ends_with("functional.pad")) &&
         std::ranges::all_of(above.children(), [&](const Node& one) { return one.text() == "0" || one.text() == whole.text(); });
}

Node function_given(Node use) {
  const Node list = use.parent(), call = list.parent();
  return list.is("argument_list") && call.is("call") ? function_named(call.field("function")) : Node{};
}

Node function_named(Node name) {
  if (!name.is("identifier")) return {};
  const source::Binding* binding = only_binding(*name.code, name.text());
  return binding != nullptr && binding->kind == source::Binding::Kind::function ? binding->node : Node{};
}

bool is_followed_in_function(Node use, bool real, const std::function<bool(Node)>& also) {
  const Node function = function_given(use), parameter = function ? parameter_for(use, function) : Node{};
  return parameter &&
         each_use(function, parameter.text(), [&](Node one) { return is_size(one) || (real && is_rate_or_factor(one)) || also(one); });
}

bool is_compared_alike(Node use, double one, double other) {
  Node compared = use;
  double divisor = 0;  // `if width % 2 == 1:`
  if (const Node rest = use.parent();
      rest.is("binary_operator") && rest.field("operator").text() == "%" && rest.field("right").is("integer")) {
    divisor = literal_number(rest.field("right"));
    compared = rest;
  }
  const Node comparison = compared.parent();
  const auto parts = comparison.is("comparison_operator") ? comparison.children() : std::vector<Node>();
  if (parts.size() != 2 || parts[0].id() != compared.id() || !(parts[1].is("integer") || parts[1].is("float"))) return false;
  const std::string_view sign = comparison.field("operators").text();
  const auto of = [&](double whole) { return divisor > 0 ? std::fmod(whole, divisor) : whole; };
  const auto now = compares(sign, of(one), literal_number(parts[1])), then = compares(sign, of(other), literal_number(parts[1]));
  return now && now == then;
}

bool is_compared_alike(Node use, const Value& was, const Value& is) {
  const Node comparison = use.parent();
  const auto parts = comparison.is("comparison_operator") ? comparison.children() : std::vector<Node>();
  if (parts.size() != 2) return false;
  const auto in = [&](const Value& module) -> std::optional<bool> {
    std::vector<double> values;
    for (const Node& part : parts) {
      const std::string_view name = part.is("attribute") && part.field("object").text() == "self" ? part.field("attribute").text() : "";
      const Ref held = attribute_of(module, name);
      if (!held || !real_of(*held)) return std::nullopt;
      values.push_back(*real_of(*held));
    }
    return compares(comparison.field("operators").text(), values[0], values[1]);
  };
  return in(was) && in(was) == in(is);
}

bool is_of_tensor(Node method) {
  constexpr std::array<std::string_view, 16> kMethods{"item",   "tolist",     "unsqueeze", "squeeze", "transpose", "permute",
                                                      "float",  "view",       "reshape",   "repeat",  "expand",    "clone",
                                                      "detach", "contiguous", "t",         "astype"};
  return method.is("attribute") && is_among(kMethods, method.field("attribute").text());
}

bool changes_list(Node method) {
  constexpr std::array<std::string_view, 3> kMethods{"reverse", "append", "sort"};
  return method.is("attribute") && is_among(kMethods, method.field("attribute").text());
}

bool is_bound_of_random(Node call, Node given) {
  if (call.field("function").text() != "torch.randint") return false;
  if (given.is("keyword_argument")) return given.field("name").text() == "low" || given.field("name").text() == "high";
  std::vector<Node> positional;
  bool sized = false;
  for (const Node& one : call.field("arguments").children()) {
    if (!one.is("keyword_argument")) positional.push_back(one);
    sized = sized || (one.is("keyword_argument") && one.field("name").text() == "size");
  }
  return sized || (!positional.empty() && positional.back().id() != given.id());
}

bool bounds_random(Node use) {
  Node given = use;
  while (given.parent().is("binary_operator") || given.parent().is("parenthesized_expression")) given = given.parent();
  if (given.parent().is("keyword_argument")) given = given.parent();
  const Node list = given.parent();
  return list.is("argument_list") && list.parent().is("call") && is_bound_of_random(list.parent(), given);
}

bool is_rate_or_factor(Node use) {
  return is_rate(use) || is_followed(use, true, 0);
}

Node other_use(Node node, const std::string& name, bool attribute, bool real, const std::function<bool(Node)>& also) {
  if (!attribute && node.is("attribute")) return other_use(node.field("object"), name, attribute, real, also);
  if (!attribute && node.is("keyword_argument")) return other_use(node.field("value"), name, attribute, real, also);
  if (attribute && is_method_of_other(node)) return other_use(node.field("object"), name, attribute, real, also);
  const bool mentions =
      attribute ? node.is("attribute") && node.field("attribute").text() == name : node.is("identifier") && node.text() == name;
  if (mentions)
    return (real ? is_rate_or_factor(node) : is_size(node) || (attribute && is_cut(node))) || (also && also(node)) ? Node{} : node;
  for (const Node& child : node.children()) {
    if (const Node found = other_use(child, name, attribute, real, also)) return found;
  }
  return {};
}

}  // namespace hotlens::layers
