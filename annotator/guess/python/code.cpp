#include "annotator/guess/python/code.h"

#include <algorithm>

namespace hotlens::guess {
namespace {

bool is_block_holder(std::string_view kind) {
  return kind == "if_statement" || kind == "elif_clause" || kind == "else_clause" || kind == "try_statement" || kind == "except_clause" ||
         kind == "finally_clause" || kind == "with_statement" || kind == "block" || kind == "for_statement" || kind == "while_statement";
}

using Bound = std::vector<std::pair<std::string, Binding>>;

void bind_import(Node statement, Bound& out) {
  for (const Node& one : statement.children()) {
    if (one.is("dotted_name")) {
      const std::string dotted(one.text());
      const std::string first = dotted.substr(0, dotted.find('.'));
      out.emplace_back(first, Binding{Binding::Kind::module, {}, first, {}});
    } else if (one.is("aliased_import")) {
      out.emplace_back(std::string(one.field("alias").text()),
                       Binding{Binding::Kind::module, {}, std::string(one.field("name").text()), {}});
    }
  }
}

void bind_from(Node statement, Bound& out) {
  const Node from = statement.field("module_name");
  if (!from) return;
  const std::string module(from.text());
  for (const Node& one : statement.children()) {
    if (ts_node_eq(one.node, from.node)) continue;
    if (one.is("wildcard_import")) {
      out.emplace_back("*", Binding{Binding::Kind::star, {}, module, {}});
    } else if (one.is("dotted_name")) {
      out.emplace_back(std::string(one.text()), Binding{Binding::Kind::member, {}, module, std::string(one.text())});
    } else if (one.is("aliased_import")) {
      out.emplace_back(std::string(one.field("alias").text()),
                       Binding{Binding::Kind::member, {}, module, std::string(one.field("name").text())});
    }
  }
}

void bind_statement(Node statement, Bound& out);

// `a, b = x, y`; what is taken apart at run time only is not known.
void bind_parts(Node left, Node right, Bound& out) {
  const std::vector<Node> names = left.children(), values = right.children();
  const bool listed = (right.is("expression_list") || right.is("tuple")) && names.size() == values.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].is("identifier"))
      out.emplace_back(std::string(names[i].text()), Binding{Binding::Kind::value, listed ? values[i] : Node{}, {}, {}});
  }
}

void bind_assignment(Node assignment, Bound& out) {
  const Node left = assignment.field("left"), right = assignment.field("right");
  if (!left || !right) return;
  if (left.is("identifier")) out.emplace_back(std::string(left.text()), Binding{Binding::Kind::value, right, {}, {}});
  if (left.is("pattern_list") || left.is("tuple_pattern")) bind_parts(left, right, out);
  if (right.is("assignment")) bind_assignment(right, out);
}

void bind_statement(Node statement, Bound& out) {
  const std::string_view kind = statement.kind();
  if (kind == "class_definition" || kind == "function_definition") {
    const auto what = kind == "class_definition" ? Binding::Kind::type : Binding::Kind::function;
    if (const Node name = statement.field("name")) out.emplace_back(std::string(name.text()), Binding{what, statement, {}, {}});
  } else if (kind == "decorated_definition") {
    if (const Node inner = statement.field("definition")) bind_statement(inner, out);
  } else if (kind == "import_statement") {
    bind_import(statement, out);
  } else if (kind == "import_from_statement") {
    bind_from(statement, out);
  } else if (kind == "expression_statement") {
    for (const Node& one : statement.children()) {
      if (one.is("assignment")) bind_assignment(one, out);
    }
  } else if (is_block_holder(kind)) {
    for (const Node& one : statement.children()) bind_statement(one, out);
  }
}

void collect_functions(Node node, std::unordered_map<std::uint32_t, Node>& out) {
  if (node.is("function_definition")) {
    out.try_emplace(node.range().begin.line, node);
    const Node above = node.parent();
    if (above && above.is("decorated_definition")) out.try_emplace(above.range().begin.line, node);
  }
  for (const Node& child : node.children()) {
    const std::string_view kind = child.kind();
    const bool statement = kind.ends_with("_definition") || is_block_holder(kind);
    if (statement) collect_functions(child, out);
  }
}

}  // namespace

std::string_view Node::text() const {
  const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
  return std::string_view(code->text()).substr(begin, end - begin);
}

Node Node::field(std::string_view name) const {
  return {code, ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size()))};
}

std::vector<Node> Node::children() const {
  std::vector<Node> out;
  const std::uint32_t count = ts_node_named_child_count(node);
  out.reserve(count);
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  if (ts_tree_cursor_goto_first_child(&cursor)) {
    do {
      const TSNode child = ts_tree_cursor_current_node(&cursor);
      if (ts_node_is_named(child) && !ts_node_is_extra(child)) out.push_back({code, child});
    } while (ts_tree_cursor_goto_next_sibling(&cursor));
  }
  ts_tree_cursor_delete(&cursor);
  return out;
}

source::Range Node::range() const {
  const TSPoint begin = ts_node_start_point(node), end = ts_node_end_point(node);
  return {{begin.row, begin.column}, {end.row, end.column}};
}

Code::Code(std::filesystem::path path, std::string text) : path_(std::move(path)), tree_(source::Tree::parse(std::move(text))) {}

const Code::Parsed& Code::parsed() const {
  if (parsed_) return *parsed_;
  parsed_ = std::make_unique<Parsed>();
  parsed_->syntax = tree_.data().syntax();
  for (auto& [name, binding] : bindings_of(root())) {
    if (binding.kind == Binding::Kind::star) {
      parsed_->stars.push_back(binding);
    } else {
      parsed_->names[name].push_back(binding);
    }
  }
  collect_functions(root(), parsed_->functions);
  return *parsed_;
}

bool Code::may_bind(std::string_view name) const {
  return text().find(name) != std::string::npos || text().find("import *") != std::string::npos;
}

Node Code::root() const {
  return {this, ts_tree_root_node(parsed().syntax.get())};
}

Node Code::function_at(std::uint32_t line) const {
  const auto found = parsed().functions.find(line);
  return found != parsed().functions.end() ? found->second : Node{};
}

std::vector<Node> Code::functions_named(std::string_view name) const {
  std::vector<Node> out;
  for (const auto& [line, node] : parsed().functions) {
    const Node own = node.field("name");
    const bool known = std::ranges::any_of(out, [&](const Node& other) { return other.id() == node.id(); });
    if (own && own.text() == name && !known) out.push_back(node);
  }
  return out;
}

std::vector<std::pair<std::string, Binding>> bindings_of(Node block) {
  Bound out;
  for (const Node& statement : block.children()) bind_statement(statement, out);
  return out;
}

Node enclosing(Node node, std::string_view kind) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is(kind)) return up;
  }
  return {};
}

std::string qualified_name(Node inside) {
  std::string name;
  for (Node up = inside; up; up = up.parent()) {
    const bool function = up.is("function_definition");
    if (!function && !up.is("class_definition")) continue;
    const Node own = up.field("name");
    std::string part(own ? own.text() : "?");
    if (function && !name.empty()) part += ".<locals>";
    name = name.empty() ? part : part + "." + name;
  }
  return name.empty() ? "<module>" : name;
}

Node statement_of(Node node) {
  for (Node up = node; up; up = up.parent()) {
    const Node above = up.parent();
    if (!above || above.is("block") || above.is("module")) return up;
  }
  return node;
}

}  // namespace hotlens::guess
