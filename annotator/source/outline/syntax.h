// What tree-sitter says about single statements of a text. Only those are parsed: their expressions do not depend on the rest of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {

// The expression at exactly [begin, end), and how it is used.
struct Expression {
  bool call = false;
  bool subscript = false;
  bool assignment = false;          // an assignment, or the target of one
  bool unpacking = false;           // takes something apart: the targets of an assignment, a list with `*items`
  bool loop = false;                // what a `for` or a comprehension runs over
  bool context = false;             // what a `with` enters
  bool statement = false;           // a whole simple statement
  std::vector<std::string> scopes;  // lambdas and comprehensions between it and its statement, outermost first: "<lambda>", "<listcomp>"
};

class Syntax {
 public:
  // `statements`: those that will be asked about, by their index in the outline.
  Syntax(const Tree::Data& data, std::span<const std::uint32_t> statements);

  // [begin, end) are bytes of the text, inside the statement (of a compound one: inside its header).
  Expression expression_at(std::uint32_t statement, std::uint32_t begin, std::uint32_t end) const;
  bool has_call(std::uint32_t statement) const;

 private:
  struct Part {  // some of the statements, parsed together
    std::string text;
    SyntaxTree tree;
  };
  struct Place {
    std::uint32_t part = 0, begin = 0;  // where the statement's first byte stands in the part's text
  };

  void parse(std::span<const std::uint32_t> statements);

  const Tree::Data& data_;
  std::vector<Part> parts_;
  std::unordered_map<std::uint32_t, Place> places_;
};

// Whether `function`, a qualified name as Python gives it, names code in `around` (a qualified name, "" for the module) or in lambdas and
// comprehensions inside it. Python 3.12 runs comprehensions in the function itself, so any of them may be missing.
bool names(std::string_view function, std::string_view around, const std::vector<std::string>& scopes);

}  // namespace hotlens::source
