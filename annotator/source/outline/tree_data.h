// What a Tree holds: the text, its outline, and its syntax, parsed when someone first asks.
//
// Statements come from the outline, which every tree has. tree-sitter answers what an expression is; a keystroke that nobody asks that
// about costs no parse. A tree made by edited() keeps the last parsed ancestor and the edits since, so that the parse re-uses it.
#pragma once

#include <tree_sitter/api.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "annotator/source/outline/outline.h"
#include "annotator/source/outline/tree.h"

namespace hotlens::source {

struct SyntaxDeleter {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};
using SyntaxTree = std::unique_ptr<TSTree, SyntaxDeleter>;

SyntaxTree parse_text(const std::string& text);

struct Tree::Data {
  std::string text;
  Outline outline;

  // Safe from several threads; the caller owns the copy (tree-sitter counts references).
  SyntaxTree syntax() const;
  // The parsed ancestor with its edits for a tree that follows this one by `edit`.
  void inherit(const Data& before, const TSInputEdit& edit);

 private:
  mutable std::mutex mutex_;
  mutable SyntaxTree syntax_;               // null until asked for
  mutable SyntaxTree ancestor_;             // of an earlier text; null: none, or too long ago
  mutable std::vector<TSInputEdit> edits_;  // from the ancestor's text to this one
};

}  // namespace hotlens::source
