#include "annotator/advice/edits/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hotlens::advice {
namespace {

// A name is bound here to something: `what` where an import tells, else empty.
struct Binding {
  TSNode node;
  std::string_view what = {};
};

// The function or class whose name it is; null: the file's.
TSNode owner_of(TSNode node) {
  constexpr auto kOwners = std::to_array<std::string_view>({"function_definition", "class_definition", "lambda"});
  do {
    node = ts_node_parent(node);
  } while (!ts_node_is_null(node) && std::ranges::find(kOwners, type(node)) == kOwners.end());
  return node;
}

bool in_class(TSNode node) {
  const TSNode owner = owner_of(node);
  return !ts_node_is_null(owner) && type(owner) == "class_definition";
}

// In a function around the place, whose names hide the file's.
bool is_around(TSNode node, const Span& place) {
  const TSNode owner = owner_of(node);
  return !ts_node_is_null(owner) && type(owner) != "class_definition" && span(owner).holds(place);
}

// `if TYPE_CHECKING:`, `if typing.TYPE_CHECKING:`
bool only_for_types(const PythonText& text, TSNode node) {
  for (TSNode branch = around(node, "if_statement"); !ts_node_is_null(branch); branch = around(branch, "if_statement")) {
    const std::string_view condition = text.at(field(branch, "condition"));
    const bool types = condition == "TYPE_CHECKING" || condition.ends_with(".TYPE_CHECKING");
    if (types && !condition.starts_with("not ") && span(field(branch, "consequence")).holds(span(node))) return true;
  }
  return false;
}

bool has_run(const PythonText& text, TSNode import, const Span& place) {
  const bool reaches = ts_node_is_null(owner_of(import)) || is_around(import, place);
  return reaches && span(import).end <= place.begin && !only_for_types(text, import);
}

bool in_import(TSNode node) {
  for (; !ts_node_is_null(node); node = ts_node_parent(node)) {
    if (type(node).starts_with("import_") || type(node) == "future_import_statement") return true;
  }
  return false;
}

// `torch.x`, `f(torch)`, `f(torch=1)`, `t = torch`: all else may give the name to something.
bool only_reads(TSNode name) {
  constexpr auto kReads =
      std::to_array<std::string_view>({"attribute", "member_type", "argument_list", "keyword_argument", "subscript", "return_statement"});
  const TSNode parent = ts_node_parent(name);
  const bool reads = std::ranges::find(kReads, type(parent)) != kReads.end();
  return reads || (type(parent) == "assignment" && ts_node_eq(field(parent, "right"), name)) || in_import(parent);
}

std::vector<Binding> bindings(const PythonText& text, std::string_view name) {
  std::vector<Binding> found;
  for (const Import& one : text.imports()) {
    if (one.name == name) found.push_back({one.statement, one.what});
  }
  each_node(text.root(), [&](TSNode node) {
    if (type(node) == "identifier" && text.at(node) == name && !only_reads(node)) found.push_back({node});
  });
  return found;
}

std::string_view name_of(std::string_view what) {
  return what.substr(what.rfind('.') + 1);
}

// By an import that has run.
bool is_bound(const PythonText& text, const std::vector<Binding>& all, std::string_view what, const Span& place) {
  return std::ranges::any_of(all, [&](const Binding& one) { return one.what == what && has_run(text, one.node, place); });
}

// What hides it at the place, or would be hidden by an import of it; null: nothing.
const Binding* in_the_way(const PythonText& text, const std::vector<Binding>& all, std::string_view what, const Span& place) {
  const bool bound = is_bound(text, all, what, place);
  const auto hides = [&](const Binding& one) {
    if (one.what == what) return is_around(one.node, place) && !has_run(text, one.node, place);
    return is_around(one.node, place) || (!bound && !in_class(one.node));
  };
  const auto found = std::ranges::find_if(all, hides);
  return found == all.end() ? nullptr : &*found;
}

bool is_docstring(TSNode statement) {
  return type(statement) == "expression_statement" && type(ts_node_named_child(statement, 0)) == "string";
}

std::uint32_t line_end_behind(const PythonText& text, std::uint32_t byte) {
  std::size_t end = std::min(text.text().find('\n', byte), text.text().size());
  if (end > byte && text.text()[end - 1] == '\r') --end;
  return static_cast<std::uint32_t>(end);
}

bool is_inside(TSNode root, std::uint32_t byte) {
  bool inside = false;
  each_child(root,
             [&](TSNode child) { inside = inside || (span(child).begin < byte && byte < span(child).end && type(child) != "comment"); });
  return inside;
}

// Where a new import stands, of edits that begin at this byte; nullopt where that is not certain.
std::optional<Replacement> placed(const PythonText& text, std::uint32_t first, const std::string& lines, std::string_view ends) {
  std::optional<std::uint32_t> behind, top;
  bool future = false;  // an import that has to come first and shares its line with another statement
  each_child(text.root(), [&](TSNode child) {
    if (type(child) == "comment" || span(child).begin > first) return;
    const bool anchor = type(child).starts_with("import_") || type(child) == "future_import_statement" || (!top && is_docstring(child));
    if (!top) top = span(child).begin;
    if (!anchor) return;
    const std::uint32_t end = line_end_behind(text, span(child).end);
    const bool fits = end <= first && !is_inside(text.root(), end);
    if (fits) behind = end;
    future = type(child) == "future_import_statement" ? !fits : future && !fits;
  });
  if (future || !top) return std::nullopt;
  if (behind) return Replacement{{*behind, *behind}, std::string(ends) + lines};
  return Replacement{{*top, *top}, lines + std::string(ends)};
}

std::string line_of(std::string_view what) {
  const std::size_t dot = what.rfind('.');
  if (dot == std::string_view::npos) return fmt::format("import {}", what);
  return fmt::format("from {} import {}", what.substr(0, dot), what.substr(dot + 1));
}

}  // namespace

std::string name_at(const PythonText& text, std::string_view what, const Span& place) {
  for (const Import& one : text.imports()) {
    if (one.what != what || !has_run(text, one.statement, place)) continue;
    if (in_the_way(text, bindings(text, one.name), what, place) == nullptr) return one.name;
  }
  return {};
}

std::expected<std::optional<Replacement>, std::string> missing_import(const PythonText& text, std::span<const Replacement> edits,
                                                                      std::span<const std::string> needs) {
  const std::string_view ends = line_end(text.text());
  auto first = static_cast<std::uint32_t>(text.text().size());
  std::string lines;
  for (const std::string& what : needs) {
    const std::string_view name = name_of(what);
    const std::vector<Binding> all = bindings(text, name);
    bool missing = false;
    for (const Replacement& edit : edits) {
      if (!edit.text.contains(name)) continue;
      if (const Binding* other = in_the_way(text, all, what, edit.span)) {
        const std::uint32_t line = text.line_of(span(other->node).begin) + 1;
        return std::unexpected(fmt::format("`{}`, which the edit needs, may be something else, from line {}", name, line));
      }
      missing = missing || !is_bound(text, all, what, edit.span);
      first = std::min(first, edit.span.begin);
    }
    if (missing) lines += (lines.empty() ? "" : std::string(ends)) + line_of(what);
  }
  if (lines.empty()) return std::nullopt;
  auto import = placed(text, first, lines, ends);
  if (!import) return std::unexpected(fmt::format("there is no certain place for `{}`, which the edit needs", lines));
  return import;
}

}  // namespace hotlens::advice
