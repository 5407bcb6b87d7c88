#include "annotator/source/match/match.h"

#include <utility>

#include "annotator/source/match/certainty.h"
#include "annotator/source/match/leftovers.h"
#include "annotator/source/match/matching.h"

namespace hotlens::source {

namespace {

std::vector<Match> all_the_same(std::size_t statements) {
  std::vector<Match> same;
  same.reserve(statements);
  for (Index index = 0; index < statements; ++index) same.push_back({.to = index, .same = true, .certain = true});
  return same;
}

}  // namespace

std::vector<Match> match(const Tree::Data& old, const Tree::Data& now) {
  if (old.text == now.text) return all_the_same(old.outline.statements.size());
  Matching matching(old, now);
  matching.block(kNoStatement, kNoStatement, true);
  pair_renamed(matching);
  pair_in_scopes(matching);
  pair_in_file(matching);
  pair_edited(matching);
  forget_doubtful(matching);
  return std::move(matching.to);
}

}  // namespace hotlens::source
