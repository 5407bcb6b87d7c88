// The statements of two texts while they are being paired.
//
// Holds what is paired so far and the one rule how: two compound statements bring what is inside them (pair_deep), siblings are paired from
// the ends, by name, by what is unique among them, and repeated ones in order (block). The passes of match.cpp decide what is tried next.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotator/source/match/match.h"

namespace hotlens::source {

using Index = std::uint32_t;
using Indices = std::vector<Index>;

inline bool is_scope(const Statement& statement) {
  return statement.kind == StatementKind::function || statement.kind == StatementKind::type;
}

class Matching {
 public:
  Matching(const Tree::Data& old, const Tree::Data& now);

  std::string_view old_text, now_text;
  const std::vector<Statement>& o;  // of the old text
  const std::vector<Statement>& n;  // of the text as it is now
  std::vector<Match> to;            // per statement of `o`
  Indices from;                     // per statement of `n`; kNoStatement: free

  bool old_free(Index i) const { return to[i].to == kNoStatement; }
  bool now_free(Index j) const { return from[j] == kNoStatement; }
  // What an old scope has become; the module stays the module.
  Index scope_now(Index old_scope) const { return old_scope == kNoStatement ? kNoStatement : to[old_scope].to; }

  // Pairs two free statements and what is inside them.
  void pair_deep(Index i, Index j, bool certain);
  // Pairs the statements directly inside two matched ones (kNoStatement: the whole texts).
  void block(Index old_parent, Index now_parent, bool certain);

 private:
  using Run = std::span<const Index>;

  void pair(Index i, Index j, bool certain);
  bool untouched(Index i, Index j) const;
  bool body_went_elsewhere(Index i);
  std::pair<Run, Run> pair_ends(Run old_run, Run now_run, bool certain);
  void pair_named(Run old_children, Run now_children, bool certain);
  bool resembles(Index i, Index j, Run newcomers) const;
  void gap(Run old_list, Run now_list, bool certain);
  void repeated(Run old_list, Run now_list, bool certain);

  std::unordered_map<std::uint64_t, int> bodies_;  // of functions and classes: how many more there are now
};

// The statements directly inside one, in the order of the text.
Indices children(const std::vector<Statement>& list, Index parent);
// The hashes of everything inside a statement, sorted.
std::vector<std::uint64_t> inner_hashes(const std::vector<Statement>& list, Index index);
// A function or class under another name is the same one when its statements are at least this much alike.
inline constexpr double kSameBody = 0.5;

}  // namespace hotlens::source
