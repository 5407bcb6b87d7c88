// One Python file as static resolution reads it: its syntax, the names its top level binds, and which function begins on which line.
//
// Nothing is executed. A text with syntax errors gives what tree-sitter could read of it. The syntax is parsed when someone first asks for
// it: of the many files that an import passes through, most are only asked whether they can bind a name at all. Not safe for several
// threads.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {

class Code;

// A syntax node together with the file it stands in; null for an absent child. A null node has no kind, text, fields or children.
struct Node {
  const Code* code = nullptr;
  TSNode node{};

  explicit operator bool() const { return code != nullptr && !ts_node_is_null(node); }
  std::string_view kind() const { return *this ? ts_node_type(node) : std::string_view{}; }
  bool is(std::string_view type) const { return kind() == type; }
  std::string_view text() const;
  Node field(std::string_view name) const;
  Node parent() const { return *this ? Node{code, ts_node_parent(node)} : Node{}; }
  std::vector<Node> children() const;                       // named ones, comments left out
  std::vector<Node> children(std::string_view kind) const;  // of that kind
  Node child() const;                                       // the first; null where there is none
  Range range() const;
  const void* id() const { return node.id; }
  bool begins_beside(Node other) const;  // on one line
};

// What one statement of the top level (or of a class body) says about a name.
struct Binding {
  enum class Kind : std::uint8_t { type, function, value, module, member, star };
  Kind kind = Kind::value;
  Node node;           // type, function: the definition; value: the expression on the right, null where only running it tells
  std::string module;  // module, member, star: dotted name; leading dots for a relative one
  std::string name;    // member: the name in that module
};

class Code {
 public:
  using Names = std::unordered_map<std::string, std::vector<Binding>>;

  Code(std::filesystem::path path, std::string text);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& text() const { return tree_.text(); }
  Node root() const;

  const Names& names() const { return parsed().names; }                        // of the top level; conditional branches all count
  const std::vector<Binding>& star_imports() const { return parsed().stars; }  // `from m import *`
  // False where the text, or what it imports with a star, cannot bind the name. Needs no parse.
  bool may_bind(std::string_view name) const;

  // The function whose definition (or first decorator) begins on this 0-based line; null where none does.
  Node function_at(std::uint32_t line) const;
  // Functions of that name anywhere in the file.
  std::vector<Node> functions_named(std::string_view name) const;

 private:
  struct Parsed {
    SyntaxTree syntax;
    Names names;
    std::vector<Binding> stars;
    std::unordered_map<std::uint32_t, Node> functions;
  };
  const Parsed& parsed() const;

  std::filesystem::path path_;
  Tree tree_;
  mutable std::unique_ptr<Parsed> parsed_;
};

// The names a block or statement binds, in the order of the text: classes, functions, assignments, imports; conditional branches all count.
std::vector<std::pair<std::string, Binding>> bindings_of(Node code);

// The node and everything below it, in the order of the text; `enter` says whether to go on below one.
void walk(Node root, const std::function<bool(Node)>& enter);

// The nearest definition around a node; null at the top level. `kind`: "function_definition" or "class_definition".
Node enclosing(Node node, std::string_view kind);
// "Net.forward", "Net.__init__.<locals>.make": as Python writes it, "<module>" at the top level.
std::string qualified_name(Node inside);
// The statement around an expression.
Node statement_of(Node node);

}  // namespace hotlens::source
