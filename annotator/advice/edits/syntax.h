// A Python text as edits see it: its calls with their arguments, statements of a block, and what imported names stand for.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/outline/tree_data.h"

namespace hotlens::advice {

// Bytes of the text; `end` is exclusive.
struct Span {
  std::uint32_t begin = 0, end = 0;
  bool holds(const Span& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Span&) const = default;
};

struct Argument {
  std::string name;  // empty: by position
  Span whole, value;
  bool spread = false;         // `*args`, `**options`
  std::string_view kind = {};  // of the value, as the grammar has it: "integer", "true", "identifier"
};

struct Call {
  Span whole, callee;
  Span arguments;  // with the parentheses
  std::vector<Argument> given;
  bool lone_generator = false;  // `f(x for x in y)`: its parentheses are the call's
  std::string what;             // "torch.optim.Adam", whatever it is imported as; empty where no import tells

  const Argument* named(std::string_view name) const;
  bool spreads() const;
};

struct Statement {
  Span span;
  bool simple = true;
};

// A name that an import gives: "F" and "torch.nn.functional".
struct Import {
  std::string name, what;
  TSNode statement;
};

class PythonText {
 public:
  explicit PythonText(std::string text);

  const std::string& text() const { return text_; }
  std::string_view at(const Span& span) const { return std::string_view(text_).substr(span.begin, span.end - span.begin); }
  bool broken() const;  // it does not parse
  const std::vector<Call>& calls() const { return calls_; }
  std::uint32_t line_of(std::uint32_t byte) const;
  source::Position position_of(std::uint32_t byte) const { return {line_of(byte), byte - lines_[line_of(byte)]}; }
  // From the first character of a line; of columns where they are known, else of whole lines. Nullopt beyond the text.
  std::optional<Span> span_of(std::uint32_t line, std::uint32_t end_line, std::optional<std::uint32_t> column,
                              std::optional<std::uint32_t> end_column) const;

  // The innermost statement around a span, and those that stand behind it in its block; empty where there is none.
  std::vector<Statement> block_from(const Span& span) const;
  // The function around a span, or the whole text.
  Span scope_of(const Span& span) const;
  // Whether a `with` around a span, or a decorator of its function, names this.
  bool is_under(const Span& span, std::string_view name) const;
  // Whether a byte is inside of a string.
  bool in_string(std::uint32_t byte) const;
  const std::vector<Import>& imports() const { return imports_; }  // also those within functions and branches, in order
  bool has_string(std::string_view content) const;                 // a literal that says exactly this

  // The tree itself; its nodes live as long as the text.
  TSNode root() const { return ts_tree_root_node(tree_.get()); }
  std::string_view at(TSNode node) const;
  std::string resolved(std::string_view dotted) const;  // "math.pi", whatever it is imported as; empty where no import tells

 private:
  void read_imports(TSNode node);
  void read_calls(TSNode node);
  Call call(TSNode node) const;

  std::string text_;
  source::SyntaxTree tree_;
  std::vector<std::uint32_t> lines_;  // first bytes
  std::vector<Import> imports_;
  std::map<std::string, std::string> names_;  // what an imported name stands for; empty: several things
  std::vector<Call> calls_;
};

// Nodes: their kind in the grammar, their bytes, a named part, and each named child in order.
std::string_view type(TSNode node);
Span span(TSNode node);
TSNode field(TSNode node, std::string_view name);
template <class Each>
void each_child(TSNode node, const Each& each) {
  for (std::uint32_t at = 0; at < ts_node_named_child_count(node); ++at) each(ts_node_named_child(node, at));
}
// A node and all below it, from the first to the last.
template <class Each>
void each_node(TSNode node, const Each& each) {
  each(node);
  each_child(node, [&](TSNode child) { each_node(child, each); });
}
// The nearest node around it of this kind; null where there is none.
TSNode around(TSNode node, std::string_view kind);

// Nothing but an indentation.
bool is_blank(std::string_view text);
// A statement behind these bytes on their line.
bool shares_end(std::string_view text, std::uint32_t end);
// A variable: no attribute and no keyword.
bool is_variable(TSNode node);

// "\r\n" where the text has it.
std::string_view line_end(std::string_view text);

struct Replacement {
  Span span;
  std::string text;
};
// In any order, without overlap.
std::string replaced(const std::string& text, std::vector<Replacement> replacements);

}  // namespace hotlens::advice
