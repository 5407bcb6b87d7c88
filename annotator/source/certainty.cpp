#include "annotator/source/certainty.h"

#include <map>
#include <unordered_set>

namespace hotlens::source {
namespace {

using Surplus = std::map<std::pair<Index, std::uint64_t>, int>;  // by scope of the new text and hash: how many more there are now

// Which of a repeated statement went or came cannot be known. Twins in matched functions cancel out; only the others are counted.
Surplus surplus(const Matching& m) {
  Surplus more;
  auto stays = [&](Index i) { return m.to[i].same && m.n[m.to[i].to].scope == m.scope_now(m.o[i].scope); };
  for (Index i = 0; i < m.o.size(); ++i) {
    if (!stays(i)) --more[{m.scope_now(m.o[i].scope), m.o[i].hash}];
  }
  for (Index j = 0; j < m.n.size(); ++j) {
    if (m.now_free(j) || !stays(m.from[j])) ++more[{m.n[j].scope, m.n[j].hash}];
  }
  return more;
}

void forget_repeated(Matching& m, const Surplus& more) {
  std::unordered_set<std::uint64_t> changed;
  for (const auto& [key, count] : more) {
    if (count != 0) changed.insert(key.second);
  }
  for (Index i = 0; i < m.o.size(); ++i) {
    if (!m.to[i].certain || !changed.contains(m.o[i].hash)) continue;
    auto found = more.find({m.scope_now(m.o[i].scope), m.o[i].hash});
    if (found != more.end() && found->second != 0) m.to[i].certain = false;
  }
}

}  // namespace

void forget_doubtful(Matching& m) {
  forget_repeated(m, surplus(m));
  for (Index i = 0; i < m.o.size(); ++i) {
    Index scope = m.o[i].scope;
    if (scope != kNoStatement && m.to[scope].same && !m.to[scope].certain) m.to[i].certain = false;
  }
}

}  // namespace hotlens::source
