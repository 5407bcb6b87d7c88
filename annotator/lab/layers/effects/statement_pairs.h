// Where two lists of statements (or arguments, or entries) differ, and which statement is what has become of another.
#pragma once

#include <vector>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

using Nodes = std::vector<Node>;

struct Difference {
  Nodes was, is;
};
// Runs of nodes between those that are worded alike in both.
std::vector<Difference> differences(const Nodes& was, const Nodes& is);

// What is decorated, where it is.
Node definition_of(Node statement);
bool is_definition(Node node);
// The assignment, or call, that a statement is; null: it is none.
Node assignment_of(Node statement);
Node call_of(Node statement);

// Whether one statement is what has become of the other: of the same name, target or callee.
bool is_same_statement(Node was, Node is);

}  // namespace hotlens::layers
