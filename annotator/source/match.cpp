#include "annotator/source/match.h"

#include <utility>

#include "annotator/source/certainty.h"
#include "annotator/source/leftovers.h"
#include "annotator/source/matching.h"

namespace hotlens::source {

std::vector<Match> match(const Tree::Data& old, const Tree::Data& now) {
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
