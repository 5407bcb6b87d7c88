#include "annotator/source/match/certainty.h"

#include <map>
#include <unordered_set>

#include "annotator/source/outline/normal_form.h"

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

// A method may have come from another class, where one of the same name and body is gone, and the one that stood here may be what goes
// by another name now: the text is the same as if it had stayed.
void forget_swapped(Matching& m) {
  auto name_and_body = [](const Statement& scope) { return mix(scope.own_key, scope.inside); };
  auto stays = [&](Index i) { return m.to[i].same && m.n[m.to[i].to].scope == m.scope_now(m.o[i].scope); };
  std::unordered_set<std::uint64_t> left, arrived;  // names and bodies of the old text; bodies of the new one
  for (Index i = 0; i < m.o.size(); ++i) {
    if (is_scope(m.o[i]) && !stays(i)) left.insert(name_and_body(m.o[i]));
  }
  if (left.empty()) return;
  for (Index j = 0; j < m.n.size(); ++j) {
    if (is_scope(m.n[j]) && (m.now_free(j) || !stays(m.from[j]))) arrived.insert(m.n[j].inside);
  }
  for (Index i = 0; i < m.o.size(); ++i) {
    if (!is_scope(m.o[i]) || !m.to[i].certain) continue;
    if (arrived.contains(m.o[i].inside) && left.contains(name_and_body(m.o[i]))) m.to[i].certain = false;
  }
}

}  // namespace

void forget_doubtful(Matching& m) {
  forget_repeated(m, surplus(m));
  forget_swapped(m);
  for (Index i = 0; i < m.o.size(); ++i) {
    Index scope = m.o[i].scope;
    if (scope != kNoStatement && m.to[scope].same && !m.to[scope].certain) m.to[i].certain = false;
  }
}

}  // namespace hotlens::source
