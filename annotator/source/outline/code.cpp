#include "annotator/source/outline/code.h"

#include <algorithm>

namespace hotlens::source {
namespace {

bool is_block_holder(std::string_view kind) {
  return kind == "module" || kind == "if_statement" || kind == "elif_clause" || kind == "else_clause" || kind == "try_statement" ||
         kind == "except_clause" || kind == "finally_clause" || kind == "with_statement" || kind == "block" || kind == "for_statement" ||
         kind == "while_statement";
}

using Bound = std::vector<std::pair<std::string, Binding>>;

// `import a.b`, `import a.b as c`, `from a import b as c`, `from a import *`.
void bind_import(Node statement, Bound& out) {
  using Kind = Binding::Kind;
  const Node from = statement.field("module_name");
  const std::string module(from.text());
  for (const Node& one : statement.children()) {
    const Node alias = one.field("alias");
    const std::string name((alias ? one.field("name") : one).text());
    const std::string here(alias ? alias.text() : from ? name : name.substr(0, name.find('.')));
    if (one.is("wildcard_import")) {
      out.emplace_back("*", Binding{Kind::star, {}, module, {}});
    } else if (!from) {
      out.emplace_back(here, Binding{Kind::module, {}, alias ? name : here, {}});
    } else if (one.id() != from.id()) {
      out.emplace_back(here, Binding{Kind::member, {}, module, name});
    }
  }
}

// `a = x`, `a, b = x, y`; what is taken apart at run time only is not known.
void bind_assignment(Node assignment, Bound& out) {
  const Node left = assignment.field("left"), right = assignment.field("right");
  if (!right) return;
  const bool several = left.is("pattern_list") || left.is("tuple_pattern");
  const std::vector<Node> names = several ? left.children() : std::vector{left}, values = right.children();
  const bool listed = (right.is("expression_list") || right.is("tuple")) && names.size() == values.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Node value = !several ? right : listed ? values[i] : Node{};
    if (names[i].is("identifier")) out.emplace_back(names[i].text(), Binding{Binding::Kind::value, value, {}, {}});
  }
  if (right.is("assignment")) bind_assignment(right, out);
}

void bind_statement(Node statement, Bound& out) {
  const std::string_view kind = statement.kind();
  if (kind == "class_definition" || kind == "function_definition") {
    const Binding::Kind what = kind == "class_definition" ? Binding::Kind::type : Binding::Kind::function;
    if (const Node name = statement.field("name")) out.emplace_back(name.text(), Binding{what, statement, {}, {}});
  } else if (kind == "decorated_definition") {
    bind_statement(statement.field("definition"), out);
  } else if (kind == "import_statement" || kind == "import_from_statement") {
    bind_import(statement, out);
  } else if (kind == "expression_statement") {
    for (const Node& one : statement.children("assignment")) bind_assignment(one, out);
  } else if (is_block_holder(kind)) {
    for (const Node& one : statement.children()) bind_statement(one, out);
  }
}

std::unordered_map<std::uint32_t, Node> functions_below(Node root) {
  std::unordered_map<std::uint32_t, Node> found;
  walk(root, [&](Node node) {
    if (node.is("function_definition")) {
      found.try_emplace(node.range().begin.line, node);
      if (node.parent().is("decorated_definition")) found.try_emplace(node.parent().range().begin.line, node);
    }
    return node.kind().ends_with("_definition") || is_block_holder(node.kind());
  });
  return found;
}

}  // namespace

std::string_view Node::text() const {
  if (!*this) return {};
  const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
  return std::string_view(code->text()).substr(begin, end - begin);
}

Node Node::field(std::string_view name) const {
  if (!*this) return {};
  return {code, ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size()))};
}

std::vector<Node> Node::children() const {
  if (!*this) return {};
  std::vector<Node> out;
  out.reserve(ts_node_named_child_count(node));
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

std::vector<Node> Node::children(std::string_view kind) const {
  std::vector<Node> found = children();
  std::erase_if(found, [&](const Node& one) { return !one.is(kind); });
  return found;
}

Node Node::child() const {
  const std::vector<Node> all = children();
  return all.empty() ? Node{} : all.front();
}

Range Node::range() const {
  if (!*this) return {};
  const TSPoint begin = ts_node_start_point(node), end = ts_node_end_point(node);
  return {{begin.row, begin.column}, {end.row, end.column}};
}

bool Node::begins_beside(Node other) const {
  return code == other.code && range().begin.line == other.range().begin.line;
}

Code::Code(std::filesystem::path path, std::string text) : path_(std::move(path)), tree_(Tree::parse(std::move(text))) {}

const Code::Parsed& Code::parsed() const {
  if (parsed_) return *parsed_;
  parsed_ = std::make_unique<Parsed>();
  parsed_->syntax = tree_.data().syntax();
  for (auto& [name, binding] : bindings_of(root()))
    (binding.kind == Binding::Kind::star ? parsed_->stars : parsed_->names[name]).push_back(binding);
  parsed_->functions = functions_below(root());
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
    if (node.field("name").text() == name && node.range().begin.line == line) out.push_back(node);
  }
  return out;
}

std::vector<std::pair<std::string, Binding>> bindings_of(Node code) {
  Bound out;
  bind_statement(code, out);
  return out;
}

void walk(Node root, const std::function<bool(Node)>& enter) {
  std::vector<Node> open{root};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!enter(node)) continue;
    const std::vector<Node> below = node.children();
    open.insert(open.end(), below.rbegin(), below.rend());
  }
}

Node enclosing(Node node, std::string_view kind) {
  Node up = node.parent();
  while (up && !up.is(kind)) up = up.parent();
  return up;
}

std::string qualified_name(Node inside) {
  std::string name;
  for (Node up = inside; up; up = up.parent()) {
    const bool function = up.is("function_definition");
    if (!function && !up.is("class_definition")) continue;
    const std::string own(up.field("name").text());
    name = name.empty() ? own : own + (function ? ".<locals>." : ".") + name;
  }
  return name.empty() ? "<module>" : name;
}

Node statement_of(Node node) {
  for (Node above = node.parent(); above && !above.is("block") && !above.is("module"); above = node.parent()) node = above;
  return node;
}

}  // namespace hotlens::source
