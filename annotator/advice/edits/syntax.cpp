#include "annotator/advice/edits/syntax.h"

#include <algorithm>

namespace hotlens::advice {
namespace {

bool is_compound(std::string_view kind) {
  return kind == "function_definition" || kind == "class_definition" || kind == "decorated_definition" || kind == "if_statement" ||
         kind == "for_statement" || kind == "while_statement" || kind == "with_statement" || kind == "try_statement" ||
         kind == "match_statement";
}

TSNode innermost(TSNode root, const Span& span) {
  return ts_node_descendant_for_byte_range(root, span.begin, span.end > span.begin ? span.end - 1 : span.end);
}

bool any_string(TSNode node, const auto& fits) {
  if (type(node) == "string") return fits(node);
  bool found = false;
  each_child(node, [&](TSNode child) { found = found || any_string(child, fits); });
  return found;
}

}  // namespace

std::string_view type(TSNode node) {
  return ts_node_type(node);
}

Span span(TSNode node) {
  return {ts_node_start_byte(node), ts_node_end_byte(node)};
}

TSNode field(TSNode node, std::string_view name) {
  return ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size()));
}

TSNode around(TSNode node, std::string_view kind) {
  do {
    node = ts_node_parent(node);
  } while (!ts_node_is_null(node) && type(node) != kind);
  return node;
}

const Argument* Call::named(std::string_view name) const {
  const auto found = std::ranges::find(given, name, [](const Argument& one) -> std::string_view { return one.name; });
  return found == given.end() ? nullptr : &*found;
}

bool Call::spreads() const {
  return std::ranges::any_of(given, &Argument::spread);
}

PythonText::PythonText(std::string text) : text_(std::move(text)), tree_(source::parse_text(text_)) {
  lines_.push_back(0);
  for (std::uint32_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n') lines_.push_back(at + 1);
  }
  const TSNode root = ts_tree_root_node(tree_.get());
  read_imports(root);
  read_calls(root);
}

bool PythonText::broken() const {
  return ts_node_has_error(ts_tree_root_node(tree_.get()));
}

std::string_view PythonText::at(TSNode node) const {
  return at(span(node));
}

std::uint32_t PythonText::line_of(std::uint32_t byte) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(lines_, byte) - lines_.begin() - 1);
}

std::optional<Span> PythonText::span_of(std::uint32_t line, std::uint32_t end_line, std::optional<std::uint32_t> column,
                                        std::optional<std::uint32_t> end_column) const {
  if (line >= lines_.size() || end_line >= lines_.size() || end_line < line) return std::nullopt;
  const auto size = static_cast<std::uint32_t>(text_.size());
  const std::uint32_t next = end_line + 1 < lines_.size() ? lines_[end_line + 1] - 1 : size;
  const Span found{lines_[line] + column.value_or(0), end_column ? lines_[end_line] + *end_column : next};
  return found.begin <= found.end && found.end <= size ? std::optional(found) : std::nullopt;
}

// A name that is imported as two things stands for neither.
void PythonText::read_imports(TSNode node) {
  const auto name_it = [&](std::string name, std::string what) {
    imports_.push_back({name, what, node});
    const auto [known, fresh] = names_.emplace(std::move(name), what);
    if (!fresh && known->second != what) known->second.clear();
  };
  const bool from = type(node) == "import_from_statement";
  if (from || type(node) == "import_statement") {
    const TSNode module = from ? field(node, "module_name") : node;
    const std::string prefix = from ? std::string(at(module)) + "." : "";
    each_child(node, [&](TSNode child) {
      if (from && ts_node_eq(child, module)) return;
      if (type(child) == "aliased_import") {
        name_it(std::string(at(field(child, "alias"))), prefix + std::string(at(field(child, "name"))));
      } else if (type(child) == "dotted_name") {
        const std::string whole(at(child));
        const std::string first = whole.substr(0, whole.find('.'));
        name_it(first, from ? prefix + whole : first);
      }
    });
    return;
  }
  each_child(node, [&](TSNode child) { read_imports(child); });
}

std::string PythonText::resolved(std::string_view dotted) const {
  const std::size_t dot = std::min(dotted.find('.'), dotted.size());
  const auto known = names_.find(std::string(dotted.substr(0, dot)));
  if (known == names_.end() || known->second.empty()) return {};
  return known->second + std::string(dotted.substr(dot));
}

Call PythonText::call(TSNode node) const {
  const TSNode callee = field(node, "function"), arguments = field(node, "arguments");
  Call found{.whole = span(node), .callee = span(callee), .arguments = span(arguments), .given = {}, .what = {}};
  const bool plain = std::ranges::none_of(at(callee), [](char c) { return c == '(' || c == '[' || c == ' ' || c == '\n'; });
  if (plain) found.what = resolved(at(callee));
  found.lone_generator = type(arguments) == "generator_expression";
  if (found.lone_generator) {
    found.given.push_back({.name = {}, .whole = span(arguments), .value = span(arguments), .kind = "generator_expression"});
    return found;
  }
  each_child(arguments, [&](TSNode child) {
    if (type(child) == "comment") return;
    Argument argument{.name = {}, .whole = span(child), .value = span(child), .kind = type(child)};
    argument.spread = type(child) == "list_splat" || type(child) == "dictionary_splat";
    if (type(child) == "keyword_argument") {
      const TSNode value = field(child, "value");
      argument.name = at(field(child, "name"));
      argument.value = span(value);
      argument.kind = type(value);
    }
    found.given.push_back(std::move(argument));
  });
  return found;
}

void PythonText::read_calls(TSNode node) {
  if (type(node) == "call" && !ts_node_has_error(node)) calls_.push_back(call(node));
  each_child(node, [&](TSNode child) { read_calls(child); });
}

std::vector<Statement> PythonText::block_from(const Span& around) const {
  TSNode node = innermost(ts_tree_root_node(tree_.get()), around);
  while (!ts_node_is_null(node)) {
    const TSNode parent = ts_node_parent(node);
    if (ts_node_is_null(parent)) return {};
    if (type(parent) == "block" || type(parent) == "module") break;
    node = parent;
  }
  std::vector<Statement> found;
  for (; !ts_node_is_null(node); node = ts_node_next_named_sibling(node)) {
    if (type(node) != "comment") found.push_back({span(node), !is_compound(type(node))});
  }
  return found;
}

Span PythonText::scope_of(const Span& around) const {
  TSNode node = innermost(ts_tree_root_node(tree_.get()), around);
  while (!ts_node_is_null(node) && type(node) != "function_definition") {
    const TSNode parent = ts_node_parent(node);
    if (ts_node_is_null(parent)) break;
    node = parent;
  }
  return span(node);
}

bool PythonText::is_under(const Span& around, std::string_view name) const {
  TSNode node = innermost(ts_tree_root_node(tree_.get()), around);
  for (bool left = false; !ts_node_is_null(node); node = ts_node_parent(node)) {
    const bool decorated = type(node) == "decorated_definition";
    if (left && !decorated) return false;
    if (decorated || type(node) == "with_statement") {
      const TSNode inner = field(node, decorated ? "definition" : "body");
      if (at(Span{ts_node_start_byte(node), ts_node_start_byte(inner)}).contains(name)) return true;
    }
    if (left) return false;
    left = type(node) == "function_definition";
  }
  return false;
}

bool PythonText::in_string(std::uint32_t byte) const {
  TSNode node = innermost(ts_tree_root_node(tree_.get()), {byte, byte});
  for (; !ts_node_is_null(node); node = ts_node_parent(node)) {
    if (type(node) == "string") return ts_node_start_byte(node) < byte && byte < ts_node_end_byte(node);
  }
  return false;
}

bool PythonText::has_string(std::string_view content) const {
  return any_string(ts_tree_root_node(tree_.get()), [&](TSNode node) {
    const std::string_view literal = at(node);
    return literal.size() == content.size() + 2 && literal.substr(1, content.size()) == content;
  });
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

bool shares_end(std::string_view text, std::uint32_t end) {
  const std::string_view rest = text.substr(end, text.find('\n', end) - end);
  const std::size_t first = rest.find_first_not_of(" \t\r");
  return first != std::string_view::npos && rest[first] != '#';
}

bool is_variable(TSNode node) {
  const TSNode parent = ts_node_parent(node);
  if (type(node) != "identifier") return false;
  if (type(parent) == "attribute") return ts_node_eq(field(parent, "object"), node);
  return type(parent) != "keyword_argument" || ts_node_eq(field(parent, "value"), node);
}

std::string_view line_end(std::string_view text) {
  return text.contains("\r\n") ? "\r\n" : "\n";
}

std::string replaced(const std::string& text, std::vector<Replacement> replacements) {
  std::ranges::sort(replacements, {}, [](const Replacement& one) { return one.span.begin; });
  std::string made;
  std::size_t kept = 0;
  for (const Replacement& one : replacements) {
    made += text.substr(kept, one.span.begin - kept) + one.text;
    kept = one.span.end;
  }
  return made + text.substr(kept);
}

}  // namespace hotlens::advice
