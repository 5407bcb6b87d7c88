#include "annotator/source/match/leftovers.h"

#include <algorithm>
#include <map>

#include "annotator/source/match/similarity.h"
#include "annotator/source/match/unique.h"

namespace hotlens::source {
namespace {

// A statement of fewer tokens says too little to be looked for in other functions (`return x`, `pass`).
constexpr std::uint32_t kTelling = 5;

template <class Wanted>
Indices free_old(const Matching& m, Wanted wanted) {
  Indices found;
  for (Index i = 0; i < m.o.size(); ++i) {
    if (m.old_free(i) && wanted(m.o[i])) found.push_back(i);
  }
  return found;
}

template <class Wanted>
Indices free_now(const Matching& m, Wanted wanted) {
  Indices found;
  for (Index j = 0; j < m.n.size(); ++j) {
    if (m.now_free(j) && wanted(m.n[j])) found.push_back(j);
  }
  return found;
}

// Old and new statements that say the same, by scope of the new text and hash.
using Groups = std::map<std::pair<Index, std::uint64_t>, std::pair<Indices, Indices>>;

void pair_groups(Matching& m, const Groups& groups) {
  std::vector<std::pair<Index, Index>> pairs;
  for (const auto& [key, members] : groups) {
    std::size_t count = std::min(members.first.size(), members.second.size());
    for (std::size_t k = 0; k < count; ++k) pairs.emplace_back(members.first[k], members.second[k]);
  }
  std::ranges::sort(pairs);  // outer statements before those inside them
  for (auto [i, j] : pairs) {
    if (m.old_free(i) && m.now_free(j)) m.pair_deep(i, j, false);
  }
}

void pair_same_bodies(Matching& m, const Indices& old_left, const Indices& now_left) {
  auto in_old = unique(m.o, old_left, &Statement::inside), in_now = unique(m.n, now_left, &Statement::inside);
  for (Index i : old_left) {
    auto twin = in_now.find(m.o[i].inside);
    if (!m.old_free(i) || in_old[m.o[i].inside] != i || twin == in_now.end() || twin->second == kNoStatement) continue;
    if (m.now_free(twin->second) && m.n[twin->second].kind == m.o[i].kind) m.pair_deep(i, twin->second, false);
  }
}

Index most_alike(const Matching& m, Index i, const Indices& now_left) {
  Index best = kNoStatement;
  double most = kSameBody;
  auto body = inner_hashes(m.o, i);
  for (Index j : now_left) {
    if (!m.now_free(j) || m.n[j].kind != m.o[i].kind) continue;
    double alike = dice(body, inner_hashes(m.n, j));
    if (alike > most || (alike == most && best == kNoStatement)) best = j, most = alike;
  }
  return best;
}

// Free statements of the new text, also those inside others but not in other functions.
Indices free_between(const Matching& m, Index low, Index high) {
  Indices found;
  for (Index j = low; j < high; j = is_scope(m.n[j]) ? m.n[j].below : j + 1) {
    if (m.now_free(j) && !is_scope(m.n[j])) found.push_back(j);
  }
  return found;
}

void pair_runs(Matching& m, const Indices& old_run, const Indices& now_run) {
  if (old_run.empty() || now_run.empty()) return;
  if (old_run.size() == 1 && now_run.size() == 1 && m.o[old_run[0]].kind == m.n[now_run[0]].kind)
    return m.pair_deep(old_run[0], now_run[0], false);
  std::vector<Sketch> old_sketches, now_sketches;
  for (Index i : old_run) old_sketches.push_back(sketch(m.old_text, m.o[i]));
  for (Index j : now_run) now_sketches.push_back(sketch(m.now_text, m.n[j]));
  for (auto [p, q] : pair_alike(old_sketches, now_sketches)) {
    if (m.old_free(old_run[p]) && m.now_free(now_run[q])) m.pair_deep(old_run[p], now_run[q], false);
  }
}

// Runs of free siblings between those that are matched in the same block.
void pair_places(Matching& m, Index parent, Index now_parent) {
  Index low = now_parent == kNoStatement ? 0 : now_parent + 1;
  Index end = now_parent == kNoStatement ? static_cast<Index>(m.n.size()) : m.n[now_parent].below;
  Indices run;
  for (Index s : children(m.o, parent)) {
    Index twin = m.to[s].to;
    if (m.old_free(s)) {
      if (!is_scope(m.o[s])) run.push_back(s);
    } else if (m.n[twin].parent == now_parent && twin >= low) {
      pair_runs(m, run, free_between(m, low, twin));
      run.clear();
      low = m.n[twin].below;
    }
  }
  pair_runs(m, run, free_between(m, low, end));
}

}  // namespace

void pair_renamed(Matching& m) {
  Indices old_left = free_old(m, is_scope), now_left = free_now(m, is_scope);
  if (old_left.empty() || now_left.empty()) return;
  pair_same_bodies(m, old_left, now_left);
  for (Index i : old_left) {
    if (!m.old_free(i)) continue;
    Index best = most_alike(m, i, now_left);
    if (best != kNoStatement) m.pair_deep(i, best, false);
  }
}

void pair_in_scopes(Matching& m) {
  auto plain = [](const Statement& statement) { return !is_scope(statement); };
  Groups groups;
  for (Index i : free_old(m, plain)) {
    Index scope = m.scope_now(m.o[i].scope);
    if (scope != kNoStatement || m.o[i].scope == kNoStatement) groups[{scope, m.o[i].hash}].first.push_back(i);
  }
  if (groups.empty()) return;
  for (Index j : free_now(m, plain)) groups[{m.n[j].scope, m.n[j].hash}].second.push_back(j);
  pair_groups(m, groups);
}

void pair_in_file(Matching& m) {
  auto telling = [](const Statement& statement) { return !is_scope(statement) && statement.tokens >= kTelling; };
  Groups groups;
  for (Index i : free_old(m, telling)) groups[{0, m.o[i].hash}].first.push_back(i);
  if (groups.empty()) return;
  for (Index j : free_now(m, telling)) groups[{0, m.n[j].hash}].second.push_back(j);
  std::erase_if(groups, [](const auto& group) { return group.second.first.size() != 1 || group.second.second.size() != 1; });
  pair_groups(m, groups);
}

// Outer blocks first, because they say where the inner ones are.
void pair_edited(Matching& m) {
  pair_places(m, kNoStatement, kNoStatement);
  for (Index i = 0; i < m.o.size(); ++i) {
    if (!m.old_free(i) && m.o[i].below > i + 1) pair_places(m, i, m.to[i].to);
  }
}

}  // namespace hotlens::source
