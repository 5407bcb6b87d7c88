#include "annotator/lab/layers/match/methods.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

void attributes(Node node, const std::string& name, const std::function<void(Node)>& each) {
  if (node.is("attribute") && node.field("attribute").text() == name) each(node);
  for (const Node& child : node.children()) attributes(child, name, each);
}

void for_each_method(const Ref& type, const std::function<void(const std::string&, Node)>& each, int depth = 0) {
  if (type->kind != Kind::type || depth > 20) return;
  for (const auto& [name, function] : type->scope->names) {
    if (function->kind == Kind::function && name != "__init__") each(name, function->node);
  }
  for (const Ref& base : type->items) for_each_method(base, each, depth + 1);
}

void functions(Node node, Functions& to) {
  if (node.is("function_definition") || node.is("lambda")) {
    const std::string name = node.code->path().string() + ":" + source::qualified_name(node) + (node.is("lambda") ? ".lambda" : "");
    std::size_t number = 0;
    while (!to.try_emplace(name + "#" + std::to_string(number), node).second) ++number;
  }
  for (const Node& child : node.children()) functions(child, to);
}

// `self.apply_mlp(x, self.bottom)`, whose method only calls what it gets there.
bool is_only_called(const Ref& type, Node given) {
  const Node list = given.parent(), call = list.parent();
  const Node function = list.is("argument_list") && call.is("call") ? call.field("function") : Node{};
  if (!function.is("attribute") || function.field("object").text() != "self") return false;
  const Node method = method_of(type, std::string(function.field("attribute").text()));
  const Node parameter = method ? parameter_for(given, method, true) : Node{};
  bool only = static_cast<bool>(parameter);
  const auto look = [&](Node use) { only = only && use.parent().is("call") && use.parent().field("function").id() == use.id(); };
  if (only) for_each_name(method.field("body"), parameter.text(), look);
  return only;
}

}  // namespace

Functions functions_of(const Files& files, const std::function<bool(const std::filesystem::path&)>& wanted) {
  Functions all;
  for (const auto& [path, code] : files) {
    if (wanted(path)) functions(code->root(), all);
  }
  return all;
}

void for_each_name(Node node, std::string_view name, const std::function<void(Node)>& each) {
  const bool member = node.parent().is("attribute") && node.parent().field("object").id() != node.id();
  if (node.is("identifier") && node.text() == name && !member) each(node);
  for (const Node& child : node.children()) for_each_name(child, name, each);
}

Node parameter_for(Node argument, Node function, bool method) {
  const auto given = argument.parent().children(), parameters = function.field("parameters").children();
  const bool spread = std::ranges::any_of(
      given, [](const Node& one) { return one.is("keyword_argument") || one.is("list_splat") || one.is("dictionary_splat"); });
  const auto found = std::ranges::find(given, argument.id(), [](const Node& one) { return one.id(); });
  const auto place = static_cast<std::size_t>(found - given.begin()) + (method ? 1 : 0);
  if (spread || place >= parameters.size()) return {};
  const Node parameter = parameters[place];
  return parameter.is("identifier") || parameter.children().empty() ? parameter : parameter.children().front();
}

bool mentions(Node node, const std::string& name) {
  if (node.is("attribute") && node.field("attribute").text() == name) return true;
  return std::ranges::any_of(node.children(), [&](const Node& child) { return mentions(child, name); });
}

bool is_within(Node node, Node outer) {
  for (; node; node = node.parent()) {
    if (node.id() == outer.id()) return true;
  }
  return false;
}

Node method_of(const Ref& type, const std::string& name) {
  Node found;
  for_each_method(type, [&](const std::string& one, Node node) {
    if (one == name && !found) found = node;
  });
  return found;
}

void for_each_use(const Ref& type, const std::string& name, const Skips& skips, const std::function<void(Node)>& each) {
  const auto unless_skipped = [&](Node use) {
    if (!skips(use)) each(use);
  };
  for_each_method(type, [&](const std::string&, Node node) { attributes(node, name, unless_skipped); });
}

std::optional<Node> first_other_call(const Ref& type, const std::string& name, const Skips& skips) {
  std::optional<Node> other;
  for_each_use(type, name, skips, [&](Node use) {
    const Node call = use.parent();
    const bool called = call && call.is("call") && call.field("function").id() == use.id();
    if (!called && !is_only_called(type, use) && !other) other = use;
  });
  return other;
}

bool unpacks_states(const Ref& type, const std::string& name, const Skips& skips) {
  bool found = false;
  for_each_use(type, name, skips, [&](Node use) {
    for (Node up = use.parent(); up; up = up.parent()) {
      const Node left = up.is("assignment") ? up.field("left") : Node{};
      if (left) found = found || left.text().find('(') != std::string_view::npos;
      if (left || up.is("block")) break;
    }
  });
  return found;
}

bool returns_several(const Ref& type) {
  const std::function<bool(Node)> several = [&](Node node) {
    if (node.is("return_statement")) {
      const auto values = node.children();
      return !values.empty() && (values[0].is("expression_list") || values[0].is("tuple") || values[0].is("dictionary"));
    }
    return std::ranges::any_of(node.children(), several);
  };
  const Node forward = method_of(type, "forward");
  return !forward || several(forward);
}

bool reads_children(const Ref& type, const Skips& skips) {
  constexpr std::array<const char*, 9> kAll{"children",      "modules", "named_children", "named_modules", "_modules",
                                            "get_submodule", "items",   "values",         "keys"};
  bool found = false;
  for (const char* name : kAll) for_each_use(type, name, skips, [&](Node) { found = true; });
  // A container's own: `for layer in self`, `self[0]`.
  for_each_method(type, [&](const std::string&, Node method) {
    source::walk(method.field("body"), [&](Node node) {
      const Node above = node.parent();
      const bool itself = node.is("identifier") && node.text() == "self" && !above.is("attribute");
      const bool goes = above.is("for_statement") || above.is("for_in_clause") || above.is("subscript") ||
                        (above.is("argument_list") && above.parent().field("function").text() == "enumerate");
      found = found || (itself && goes);
      return true;
    });
  });
  for_each_method(type, [&](const std::string&, Node node) { found = found || node.text().find("getattr(") != std::string_view::npos; });
  return found;
}

}  // namespace hotlens::layers
