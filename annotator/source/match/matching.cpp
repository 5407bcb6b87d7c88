#include "annotator/source/match/matching.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>

#include "annotator/source/match/similarity.h"
#include "annotator/source/match/unique.h"

namespace hotlens::source {

Matching::Matching(const Tree::Data& old, const Tree::Data& now)
    : old_text(old.text),
      now_text(now.text),
      o(old.outline.statements),
      n(now.outline.statements),
      to(o.size()),
      from(n.size(), kNoStatement) {}

Indices children(const std::vector<Statement>& list, Index parent) {
  Index i = parent == kNoStatement ? 0 : parent + 1;
  Index end = parent == kNoStatement ? static_cast<Index>(list.size()) : list[parent].below;
  Indices found;
  for (; i < end; i = list[i].below) found.push_back(i);
  return found;
}

std::vector<std::uint64_t> inner_hashes(const std::vector<Statement>& list, Index index) {
  std::vector<std::uint64_t> hashes;
  for (Index i = index + 1; i < list[index].below; ++i) hashes.push_back(list[i].hash);
  std::ranges::sort(hashes);
  return hashes;
}

void Matching::pair(Index i, Index j, bool certain) {
  bool same = o[i].hash == n[j].hash;
  to[i] = {.to = j, .same = same, .certain = certain && same};
  from[j] = i;
}

void Matching::pair_deep(Index i, Index j, bool certain) {
  bool equal = o[i].inside == n[j].inside && o[i].below - i == n[j].below - j;
  // A body that has little in common with the old one may have come from elsewhere under the old name.
  auto is_alike = [&] { return dice(inner_hashes(o, i), inner_hashes(n, j)) >= kSameBody; };
  certain = certain && (equal || !is_scope(o[i]) || (!body_went_elsewhere(i) && is_alike()));
  pair(i, j, certain);
  if (o[i].below == i + 1 || n[j].below == j + 1) return;
  if (equal && untouched(i, j)) {
    for (Index k = 1; k < o[i].below - i; ++k) pair(i + k, j + k, certain);
  } else {
    block(i, j, certain);
  }
}

bool Matching::untouched(Index i, Index j) const {
  for (Index k = 1; k < o[i].below - i; ++k) {
    if (!old_free(i + k) || !now_free(j + k)) return false;
  }
  return true;
}

// Two functions may have swapped names: the body is then where it was not before, and the name is no proof.
bool Matching::body_went_elsewhere(Index i) {
  if (bodies_.empty()) {
    for (const Statement& statement : n) {
      if (is_scope(statement)) ++bodies_[statement.inside];
    }
    for (const Statement& statement : o) {
      if (is_scope(statement)) --bodies_[statement.inside];
    }
  }
  auto found = bodies_.find(o[i].inside);
  return found != bodies_.end() && found->second >= 0;
}

void Matching::block(Index old_parent, Index now_parent, bool certain) {
  Indices old_children = children(o, old_parent), now_children = children(n, now_parent);
  std::erase_if(old_children, [&](Index i) { return !old_free(i); });
  std::erase_if(now_children, [&](Index j) { return !now_free(j); });
  auto [old_middle, now_middle] = pair_ends(old_children, now_children, certain);
  pair_named(old_middle, now_middle, certain);
  gap(old_middle, now_middle, certain);
}

// Pairs what is equal from the beginning and from the end, and gives back the middles. An equal statement next to the middle that is in
// the middle as well is left to it: there it may be the one that was added or taken away.
std::pair<Matching::Run, Matching::Run> Matching::pair_ends(Run old_run, Run now_run, bool certain) {
  std::size_t most = std::min(old_run.size(), now_run.size()), front = 0, back = 0;
  while (front < most && o[old_run[front]].deep == n[now_run[front]].deep) ++front;
  auto from_end = [](Run run, std::size_t k) { return run[run.size() - 1 - k]; };
  while (back < most - front && o[from_end(old_run, back)].deep == n[from_end(now_run, back)].deep) ++back;
  if (front < most || old_run.size() != now_run.size()) {
    std::unordered_set<std::uint64_t> middle;
    for (std::size_t k = front; k + back < old_run.size(); ++k) middle.insert(o[old_run[k]].key);
    for (std::size_t k = front; k + back < now_run.size(); ++k) middle.insert(n[now_run[k]].key);
    while (front > 0 && middle.contains(o[old_run[front - 1]].key)) --front;
    while (back > 0 && middle.contains(o[from_end(old_run, back - 1)].key)) --back;
  }
  for (std::size_t k = 0; k < front; ++k) pair_deep(old_run[k], now_run[k], certain);
  for (std::size_t k = 0; k < back; ++k) pair_deep(from_end(old_run, k), from_end(now_run, k), certain);
  return {old_run.subspan(front, old_run.size() - front - back), now_run.subspan(front, now_run.size() - front - back)};
}

// Functions and classes keep their identity by name, in whatever order they stand.
void Matching::pair_named(Run old_children, Run now_children, bool certain) {
  Indices old_named, now_named;
  std::ranges::copy_if(old_children, std::back_inserter(old_named), [&](Index i) { return is_scope(o[i]); });
  std::ranges::copy_if(now_children, std::back_inserter(now_named), [&](Index j) { return is_scope(n[j]); });
  auto in_old = unique(o, old_named, &Statement::key), in_now = unique(n, now_named, &Statement::key);
  Indices newcomers;
  std::ranges::copy_if(now_named, std::back_inserter(newcomers), [&](Index j) { return !in_old.contains(n[j].key); });
  for (Index i : old_named) {
    auto twin = in_now.find(o[i].key);
    if (in_old[o[i].key] != i || twin == in_now.end() || twin->second == kNoStatement) continue;
    pair_deep(i, twin->second, certain && !resembles(i, twin->second, newcomers));
  }
}

// Whether a changed function has become one under a new name beside it, and another one bears its name now.
bool Matching::resembles(Index i, Index j, Run newcomers) const {
  if (o[i].inside == n[j].inside || newcomers.empty()) return false;
  auto body = inner_hashes(o, i);
  return std::ranges::any_of(newcomers, [&](Index other) { return dice(body, inner_hashes(n, other)) >= kSameBody; });
}

// Siblings between two matched ones: unique ones first, then again between those.
void Matching::gap(Run old_list, Run now_list, bool certain) {
  Indices old_left, now_left;
  std::ranges::copy_if(old_list, std::back_inserter(old_left), [&](Index i) { return old_free(i); });
  std::ranges::copy_if(now_list, std::back_inserter(now_left), [&](Index j) { return now_free(j); });
  if (old_left.empty() || now_left.empty()) return;
  Places fixed = unique_in_both(o, old_left, n, now_left, &Statement::deep);
  if (fixed.empty()) fixed = unique_in_both(o, old_left, n, now_left, &Statement::key);
  if (fixed.empty()) return repeated(old_left, now_left, certain);
  for (auto [p, q] : fixed) pair_deep(old_left[p], now_left[q], certain);
  Index p = 0, q = 0;
  fixed.emplace_back(old_left.size(), now_left.size());
  for (auto [next_p, next_q] : fixed) {
    gap(std::span(old_left).subspan(p, next_p - p), std::span(now_left).subspan(q, next_q - q), certain);
    p = next_p + 1;
    q = next_q + 1;
  }
}

// Statements that are not unique even here: in order, and for certain only where all of a kind stand at the same places.
void Matching::repeated(Run old_list, Run now_list, bool certain) {
  std::map<std::uint64_t, std::pair<Indices, Indices>> groups;
  for (Index p = 0; p < old_list.size(); ++p) groups[o[old_list[p]].key].first.push_back(p);
  for (Index q = 0; q < now_list.size(); ++q) groups[n[now_list[q]].key].second.push_back(q);
  bool aligned = old_list.size() == now_list.size();
  for (const auto& [key, places] : groups) {
    if (places.first.size() != places.second.size()) continue;  // found later, by what is around them
    for (std::size_t k = 0; k < places.first.size(); ++k) {
      pair_deep(old_list[places.first[k]], now_list[places.second[k]], certain && aligned && places.first == places.second);
    }
  }
}

}  // namespace hotlens::source
