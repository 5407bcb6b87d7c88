// What tree-sitter says about one place of a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/tree.h"

namespace hotlens::source {

// The expression at exactly [begin, end), and how it is used.
struct Expression {
  bool call = false;
  bool assignment = false;          // an assignment, or the target of one
  bool loop = false;                // what a `for` or a comprehension runs over
  bool context = false;             // what a `with` enters
  bool statement = false;           // a whole simple statement
  std::vector<std::string> scopes;  // lambdas and comprehensions between it and its statement, outermost first: "<lambda>", "<listcomp>"
};

class Syntax {
 public:
  explicit Syntax(const Tree::Data& data) : text_(data.text), tree_(data.syntax()) {}

  Expression expression_at(std::uint32_t begin, std::uint32_t end) const;
  bool has_call(std::uint32_t begin, std::uint32_t end) const;

 private:
  std::string_view text_;
  SyntaxTree tree_;
};

// Whether `function`, a qualified name as Python gives it, names code in `around` (a qualified name, "" for the module) or in lambdas and
// comprehensions inside it. Python 3.12 runs comprehensions in the function itself, so any of them may be missing.
bool names(std::string_view function, std::string_view around, const std::vector<std::string>& scopes);

}  // namespace hotlens::source
