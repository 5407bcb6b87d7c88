#include "annotator/source/outline/syntax.h"

#include <algorithm>

#include "annotator/source/outline/excerpt.h"

namespace hotlens::source {
namespace {

std::string_view type(TSNode node) {
  return ts_node_type(node);
}

// The grammar binds a star to the first name: in `[*f(x)]` it calls `*f`. To Python the call is `f(x)`.
std::uint32_t begin_of(TSNode node, std::string_view text) {
  std::uint32_t begin = ts_node_start_byte(node);
  if (type(node) == "list_splat" || type(node) == "dictionary_splat") return begin;
  while (begin < text.size() && (text[begin] == '*' || text[begin] == ' ')) ++begin;
  return begin;
}

bool is_field(TSNode parent, std::string_view field, TSNode child) {
  TSNode found = ts_node_child_by_field_name(parent, field.data(), static_cast<std::uint32_t>(field.size()));
  return !ts_node_is_null(found) && ts_node_eq(found, child);
}

std::string_view scope_name(std::string_view type) {
  if (type == "lambda") return "<lambda>";
  if (type == "list_comprehension") return "<listcomp>";
  if (type == "set_comprehension") return "<setcomp>";
  if (type == "dictionary_comprehension") return "<dictcomp>";
  if (type == "generator_expression") return "<genexpr>";
  return {};
}

bool is_pattern(std::string_view type) {
  return type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" || type == "list_splat_pattern";
}

// Inside a statement's expression; statements end the climb.
bool is_statement(std::string_view type) {
  return type == "block" || type == "module" || type.ends_with("_statement") || type.ends_with("_definition");
}

void note_use(Expression& found, TSNode node, TSNode parent) {
  std::string_view above = type(parent);
  if (above == "assignment" || above == "augmented_assignment") found.assignment |= is_field(parent, "left", node);
  if (above == "assignment" && is_pattern(type(node))) found.unpacking |= is_field(parent, "left", node);
  if (above == "for_statement" || above == "for_in_clause") found.loop |= is_field(parent, "right", node);
  if (above == "with_item") found.context = true;
}

// `[*items]`: takes something apart where it is read.
bool has_splat(TSNode node) {
  const std::string_view kind = type(node);
  if (kind != "list" && kind != "tuple" && kind != "set" && kind != "expression_list") return false;
  for (std::uint32_t i = 0; i < ts_node_named_child_count(node); ++i) {
    if (type(ts_node_named_child(node, i)) == "list_splat") return true;
  }
  return false;
}

void note_kind(Expression& found, TSNode node) {
  const std::string_view kind = type(node);
  found.unpacking |= has_splat(node);
  found.call |= kind == "call";
  found.subscript |= kind == "subscript";
  found.assignment |= kind == "assignment" || kind == "augmented_assignment" || kind == "named_expression";
  found.statement |= kind.ends_with("_statement");
}

bool calls_inside(TSNode node, std::uint32_t begin, std::uint32_t end) {
  if (ts_node_end_byte(node) <= begin || ts_node_start_byte(node) >= end) return false;
  if (type(node) == "call" && ts_node_start_byte(node) >= begin && ts_node_end_byte(node) <= end) return true;
  std::uint32_t count = ts_node_named_child_count(node);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (calls_inside(ts_node_named_child(node, i), begin, end)) return true;
  }
  return false;
}

std::vector<std::string_view> parts(std::string_view name) {
  std::vector<std::string_view> found;
  while (!name.empty()) {
    std::size_t dot = name.find('.');
    std::string_view part = name.substr(0, dot);
    if (part != "<locals>" && part != "<module>" && !part.starts_with("<generic")) found.push_back(part);
    name = dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
  }
  return found;
}

}  // namespace

Syntax::Syntax(const Tree::Data& data, std::span<const std::uint32_t> statements) : data_(data) {
  if (!statements.empty()) parse(statements);
}

// A statement that is no Python must not cost its neighbours their syntax: it is parsed apart from them.
void Syntax::parse(std::span<const std::uint32_t> statements) {
  Excerpt chosen = excerpt(data_.text, data_.outline, statements);
  SyntaxTree tree = parse_text(chosen.text);
  if (statements.size() > 1 && ts_node_has_error(ts_tree_root_node(tree.get()))) {
    parse(statements.first(statements.size() / 2));
    parse(statements.subspan(statements.size() / 2));
    return;
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    places_[statements[i]] = {static_cast<std::uint32_t>(parts_.size()), chosen.begins[i]};
  }
  parts_.push_back({std::move(chosen.text), std::move(tree)});
}

Expression Syntax::expression_at(std::uint32_t statement, std::uint32_t begin, std::uint32_t end) const {
  Expression found;
  const auto place = places_.find(statement);
  if (begin >= end || place == places_.end()) return found;
  const Part& part = parts_[place->second.part];
  const std::uint32_t shift = place->second.begin - data_.outline.statements[statement].begin;  // modulo 2^32
  begin += shift;
  end += shift;
  // tree-sitter takes the last byte, not the end.
  TSNode node = ts_node_descendant_for_byte_range(ts_tree_root_node(part.tree.get()), begin, end - 1);
  bool exact = true;
  for (; !ts_node_is_null(node) && type(node) != "module" && type(node) != "block"; node = ts_node_parent(node)) {
    TSNode parent = ts_node_parent(node);
    const std::uint32_t node_begin = begin_of(node, part.text);
    if (exact && ts_node_end_byte(node) <= end && node_begin >= begin) {
      if (node_begin == begin && ts_node_end_byte(node) == end) {
        note_kind(found, node);
        TSNode target = node, above = parent;
        while (!ts_node_is_null(above) && is_pattern(type(above))) target = above, above = ts_node_parent(above);
        if (!ts_node_is_null(above)) note_use(found, target, above);
      }
    } else {
      exact = false;
    }
    if (std::string_view scope = scope_name(type(node)); !scope.empty()) found.scopes.emplace_back(scope);
    if (is_statement(type(node))) break;
  }
  std::ranges::reverse(found.scopes);
  return found;
}

bool Syntax::has_call(std::uint32_t statement) const {
  const auto place = places_.find(statement);
  if (place == places_.end()) return false;
  const Statement& at = data_.outline.statements[statement];
  const Part& part = parts_[place->second.part];
  const std::uint32_t begin = place->second.begin, end = begin + (at.end - at.begin);
  return calls_inside(ts_node_descendant_for_byte_range(ts_tree_root_node(part.tree.get()), begin, end - 1), begin, end);
}

bool names(std::string_view function, std::string_view around, const std::vector<std::string>& scopes) {
  auto have = parts(function), expected = parts(around);
  if (have.size() < expected.size() || !std::equal(expected.begin(), expected.end(), have.begin())) return false;
  auto scope = scopes.begin();
  for (auto part = have.begin() + static_cast<std::ptrdiff_t>(expected.size()); part != have.end(); ++part) {
    scope = std::find(scope, scopes.end(), *part);
    if (scope == scopes.end()) return false;
    ++scope;
  }
  return true;
}

}  // namespace hotlens::source
