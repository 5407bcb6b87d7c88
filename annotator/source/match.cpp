#include "annotator/source/match.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "annotator/source/similarity.h"

namespace hotlens::source {
namespace {

using Index = std::uint32_t;
using Indices = std::vector<Index>;
using Key = std::uint64_t Statement::*;

// A statement of fewer tokens says too little to be looked for in other functions (`return x`, `pass`).
constexpr std::uint32_t kTelling = 5;
// A function or class under another name is the same one when this share of its statements is.
constexpr double kSameBody = 0.5;

bool is_scope(const Statement& statement) {
  return statement.kind == StatementKind::function || statement.kind == StatementKind::type;
}

class Matcher {
 public:
  Matcher(const Tree::Data& old, const Tree::Data& now)
      : old_text_(old.text),
        now_text_(now.text),
        o_(old.outline.statements),
        n_(now.outline.statements),
        to_(o_.size()),
        from_(n_.size(), kNoStatement) {}

  std::vector<Match> run() {
    block(kNoStatement, kNoStatement, true);
    pair_renamed();
    pair_in_scopes();
    pair_in_file();
    pair_edited();
    check_repeated();
    return std::move(to_);
  }

 private:
  bool old_free(Index i) const { return to_[i].to == kNoStatement; }
  bool now_free(Index j) const { return from_[j] == kNoStatement; }

  static Indices children(const std::vector<Statement>& list, Index parent) {
    Index i = parent == kNoStatement ? 0 : parent + 1;
    Index end = parent == kNoStatement ? static_cast<Index>(list.size()) : list[parent].below;
    Indices found;
    for (; i < end; i = list[i].below) found.push_back(i);
    return found;
  }

  void pair(Index i, Index j, bool certain) {
    to_[i] = {.to = j, .same = o_[i].hash == n_[j].hash, .certain = certain && o_[i].hash == n_[j].hash};
    from_[j] = i;
  }

  // Pairs two statements and what is inside them.
  void pair_deep(Index i, Index j, bool certain) {
    bool equal = o_[i].inside == n_[j].inside && o_[i].below - i == n_[j].below - j;
    certain = certain && (equal || !is_scope(o_[i]) || (!body_went_elsewhere(i) && is_alike(i, j)));
    pair(i, j, certain);
    if (o_[i].below == i + 1 || n_[j].below == j + 1) return;
    if (equal && untouched(i, j)) {
      for (Index k = 1; k < o_[i].below - i; ++k) pair(i + k, j + k, certain);
    } else {
      block(i, j, certain);
    }
  }

  bool untouched(Index i, Index j) const {
    for (Index k = 1; k < o_[i].below - i; ++k) {
      if (!old_free(i + k) || !now_free(j + k)) return false;
    }
    return true;
  }

  // Two functions may have swapped names: the body is then where it was not before, and the name is no proof.
  bool body_went_elsewhere(Index i) {
    if (bodies_.empty()) {
      for (const Statement& statement : n_) {
        if (is_scope(statement)) ++bodies_[statement.inside];
      }
      for (const Statement& statement : o_) {
        if (is_scope(statement)) --bodies_[statement.inside];
      }
    }
    auto found = bodies_.find(o_[i].inside);
    return found != bodies_.end() && found->second >= 0;
  }

  // A body that has little in common with the old one may have come from elsewhere under the old name.
  bool is_alike(Index i, Index j) const { return dice(inner_hashes(o_, i), inner_hashes(n_, j)) >= kSameBody; }

  // The statements directly inside two matched ones.
  void block(Index old_parent, Index now_parent, bool certain) {
    Indices old_children = children(o_, old_parent), now_children = children(n_, now_parent);
    std::erase_if(old_children, [&](Index i) { return !old_free(i); });
    std::erase_if(now_children, [&](Index j) { return !now_free(j); });
    auto [old_middle, now_middle] = pair_ends(old_children, now_children, certain);
    pair_named(old_middle, now_middle, certain);
    gap(old_middle, now_middle, certain);
  }

  using Run = std::span<const Index>;

  // Pairs what is equal from the beginning and from the end, and gives back the middles. An equal statement next to the middle that is in
  // the middle as well is left to it: there it may be the one that was added or taken away.
  std::pair<Run, Run> pair_ends(Run old_run, Run now_run, bool certain) {
    std::size_t most = std::min(old_run.size(), now_run.size()), front = 0, back = 0;
    while (front < most && o_[old_run[front]].deep == n_[now_run[front]].deep) ++front;
    auto from_end = [](Run run, std::size_t k) { return run[run.size() - 1 - k]; };
    while (back < most - front && o_[from_end(old_run, back)].deep == n_[from_end(now_run, back)].deep) ++back;
    if (front < most || old_run.size() != now_run.size()) {
      std::unordered_set<std::uint64_t> middle;
      for (std::size_t k = front; k + back < old_run.size(); ++k) middle.insert(o_[old_run[k]].key);
      for (std::size_t k = front; k + back < now_run.size(); ++k) middle.insert(n_[now_run[k]].key);
      while (front > 0 && middle.contains(o_[old_run[front - 1]].key)) --front;
      while (back > 0 && middle.contains(o_[from_end(old_run, back - 1)].key)) --back;
    }
    for (std::size_t k = 0; k < front; ++k) pair_deep(old_run[k], now_run[k], certain);
    for (std::size_t k = 0; k < back; ++k) pair_deep(from_end(old_run, k), from_end(now_run, k), certain);
    return {old_run.subspan(front, old_run.size() - front - back), now_run.subspan(front, now_run.size() - front - back)};
  }

  // key → index where it is unique, kNoStatement where it is repeated.
  static std::unordered_map<std::uint64_t, Index> unique(const std::vector<Statement>& list, std::span<const Index> indices, Key key) {
    std::unordered_map<std::uint64_t, Index> found;
    found.reserve(indices.size());
    for (Index i : indices) {
      auto [at, added] = found.emplace(list[i].*key, i);
      if (!added) at->second = kNoStatement;
    }
    return found;
  }

  // Functions and classes keep their identity by name, in whatever order they stand.
  void pair_named(std::span<const Index> old_children, std::span<const Index> now_children, bool certain) {
    Indices old_named, now_named;
    std::ranges::copy_if(old_children, std::back_inserter(old_named), [&](Index i) { return is_scope(o_[i]); });
    std::ranges::copy_if(now_children, std::back_inserter(now_named), [&](Index j) { return is_scope(n_[j]); });
    auto in_old = unique(o_, old_named, &Statement::key), in_now = unique(n_, now_named, &Statement::key);
    Indices newcomers;
    std::ranges::copy_if(now_named, std::back_inserter(newcomers), [&](Index j) { return !in_old.contains(n_[j].key); });
    for (Index i : old_named) {
      auto twin = in_now.find(o_[i].key);
      if (in_old[o_[i].key] != i || twin == in_now.end() || twin->second == kNoStatement) continue;
      pair_deep(i, twin->second, certain && !resembles(i, twin->second, newcomers));
    }
  }

  // Whether a changed function has become one under a new name beside it, and another one bears its name now.
  bool resembles(Index i, Index j, std::span<const Index> newcomers) const {
    if (o_[i].inside == n_[j].inside || newcomers.empty()) return false;
    auto body = inner_hashes(o_, i);
    return std::ranges::any_of(newcomers, [&](Index other) { return dice(body, inner_hashes(n_, other)) >= kSameBody; });
  }

  using Anchors = std::vector<std::pair<Index, Index>>;  // positions in two lists

  // The longest run of pairs that increases on both sides (patience sorting); the pairs come increasing in the first.
  static Anchors increasing(const Anchors& pairs) {
    std::vector<std::size_t> piles, before(pairs.size());
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      auto pile = std::ranges::lower_bound(piles, pairs[p].second, {}, [&](std::size_t q) { return pairs[q].second; });
      before[p] = pile == piles.begin() ? p : *(pile - 1);
      if (pile == piles.end()) {
        piles.push_back(p);
      } else {
        *pile = p;
      }
    }
    Anchors run;
    if (piles.empty()) return run;
    for (std::size_t p = piles.back();; p = before[p]) {
      run.push_back(pairs[p]);
      if (before[p] == p) break;
    }
    std::ranges::reverse(run);
    return run;
  }

  Anchors unique_in_both(std::span<const Index> old_list, std::span<const Index> now_list, Key key) const {
    auto in_old = unique(o_, old_list, key), in_now = unique(n_, now_list, key);
    std::unordered_map<Index, Index> place;
    for (Index q = 0; q < now_list.size(); ++q) place.emplace(now_list[q], q);
    Anchors pairs;
    for (Index p = 0; p < old_list.size(); ++p) {
      std::uint64_t k = o_[old_list[p]].*key;
      if (in_old[k] != old_list[p]) continue;
      auto twin = in_now.find(k);
      if (twin != in_now.end() && twin->second != kNoStatement) pairs.emplace_back(p, place[twin->second]);
    }
    return increasing(pairs);
  }

  // Siblings between two matched ones: unique ones first, then again between those.
  void gap(std::span<const Index> old_list, std::span<const Index> now_list, bool certain) {
    std::vector<Index> old_left, now_left;
    std::ranges::copy_if(old_list, std::back_inserter(old_left), [&](Index i) { return old_free(i); });
    std::ranges::copy_if(now_list, std::back_inserter(now_left), [&](Index j) { return now_free(j); });
    if (old_left.empty() || now_left.empty()) return;
    Anchors anchors = unique_in_both(old_left, now_left, &Statement::deep);
    if (anchors.empty()) anchors = unique_in_both(old_left, now_left, &Statement::key);
    if (anchors.empty()) return repeated(old_left, now_left, certain);
    for (auto [p, q] : anchors) pair_deep(old_left[p], now_left[q], certain);
    Index p = 0, q = 0;
    anchors.emplace_back(old_left.size(), now_left.size());
    for (auto [next_p, next_q] : anchors) {
      gap(std::span(old_left).subspan(p, next_p - p), std::span(now_left).subspan(q, next_q - q), certain);
      p = next_p + 1;
      q = next_q + 1;
    }
  }

  // Statements that are not unique even here: in order, and for certain only where all of a kind stand at the same places.
  void repeated(std::span<const Index> old_list, std::span<const Index> now_list, bool certain) {
    std::map<std::uint64_t, std::pair<Indices, Indices>> groups;
    for (Index p = 0; p < old_list.size(); ++p) groups[o_[old_list[p]].key].first.push_back(p);
    for (Index q = 0; q < now_list.size(); ++q) groups[n_[now_list[q]].key].second.push_back(q);
    bool aligned = old_list.size() == now_list.size();
    for (const auto& [key, places] : groups) {
      if (places.first.size() != places.second.size()) continue;  // found later, by what is around them
      for (std::size_t k = 0; k < places.first.size(); ++k) {
        pair_deep(old_list[places.first[k]], now_list[places.second[k]], certain && aligned && places.first == places.second);
      }
    }
  }

  Indices free_old(const std::function<bool(const Statement&)>& wanted) const {
    Indices found;
    for (Index i = 0; i < o_.size(); ++i) {
      if (old_free(i) && wanted(o_[i])) found.push_back(i);
    }
    return found;
  }

  Indices free_now(const std::function<bool(const Statement&)>& wanted) const {
    Indices found;
    for (Index j = 0; j < n_.size(); ++j) {
      if (now_free(j) && wanted(n_[j])) found.push_back(j);
    }
    return found;
  }

  static std::vector<std::uint64_t> inner_hashes(const std::vector<Statement>& list, Index index) {
    std::vector<std::uint64_t> hashes;
    for (Index i = index + 1; i < list[index].below; ++i) hashes.push_back(list[i].hash);
    std::ranges::sort(hashes);
    return hashes;
  }

  void pair_renamed() {
    Indices old_left = free_old(is_scope), now_left = free_now(is_scope);
    if (old_left.empty() || now_left.empty()) return;
    auto in_old = unique(o_, old_left, &Statement::inside), in_now = unique(n_, now_left, &Statement::inside);
    for (Index i : old_left) {
      auto twin = in_now.find(o_[i].inside);
      if (!old_free(i) || in_old[o_[i].inside] != i || twin == in_now.end() || twin->second == kNoStatement) continue;
      if (now_free(twin->second) && n_[twin->second].kind == o_[i].kind) pair_deep(i, twin->second, false);
    }
    for (Index i : old_left) {
      if (!old_free(i)) continue;
      Index best = kNoStatement;
      double most = kSameBody;
      auto body = inner_hashes(o_, i);
      for (Index j : now_left) {
        if (!now_free(j) || n_[j].kind != o_[i].kind) continue;
        double alike = dice(body, inner_hashes(n_, j));
        bool better = alike > most || (alike == most && best == kNoStatement);
        if (better) best = j, most = alike;
      }
      if (best != kNoStatement) pair_deep(i, best, false);
    }
  }

  Index scope_now(Index old_scope) const { return old_scope == kNoStatement ? kNoStatement : to_[old_scope].to; }

  // What was wrapped, unwrapped or moved inside its function.
  void pair_in_scopes() {
    std::map<std::pair<Index, std::uint64_t>, std::pair<Indices, Indices>> groups;  // by scope of the new text and key
    for (Index i : free_old([](const Statement& s) { return !is_scope(s); })) {
      Index scope = scope_now(o_[i].scope);
      if (scope != kNoStatement || o_[i].scope == kNoStatement) groups[{scope, o_[i].hash}].first.push_back(i);
    }
    if (groups.empty()) return;
    for (Index j : free_now([](const Statement& s) { return !is_scope(s); })) groups[{n_[j].scope, n_[j].hash}].second.push_back(j);
    pair_groups(groups);
  }

  void pair_in_file() {
    std::map<std::pair<Index, std::uint64_t>, std::pair<Indices, Indices>> groups;
    auto telling = [](const Statement& s) { return !is_scope(s) && s.tokens >= kTelling; };
    for (Index i : free_old(telling)) groups[{0, o_[i].hash}].first.push_back(i);
    if (groups.empty()) return;
    for (Index j : free_now(telling)) groups[{0, n_[j].hash}].second.push_back(j);
    std::erase_if(groups, [](const auto& group) { return group.second.first.size() != 1 || group.second.second.size() != 1; });
    pair_groups(groups);
  }

  template <class Groups>
  void pair_groups(const Groups& groups) {
    std::vector<std::pair<Index, Index>> pairs;
    for (const auto& [key, members] : groups) {
      std::size_t count = std::min(members.first.size(), members.second.size());
      for (std::size_t k = 0; k < count; ++k) pairs.emplace_back(members.first[k], members.second[k]);
    }
    std::ranges::sort(pairs);  // outer statements before those inside them
    for (auto [i, j] : pairs) {
      if (old_free(i) && now_free(j)) pair_deep(i, j, false);
    }
  }

  // What has no twin is compared with what stands in its place: outer blocks first, because they say where the inner ones are.
  void pair_edited() {
    pair_places(kNoStatement, kNoStatement);
    for (Index i = 0; i < o_.size(); ++i) {
      if (!old_free(i) && o_[i].below > i + 1) pair_places(i, to_[i].to);
    }
  }

  // Runs of free siblings between those that are matched in the same block.
  void pair_places(Index parent, Index now_parent) {
    Index low = now_parent == kNoStatement ? 0 : now_parent + 1;
    Index end = now_parent == kNoStatement ? static_cast<Index>(n_.size()) : n_[now_parent].below;
    Indices run;
    for (Index s : children(o_, parent)) {
      if (old_free(s)) {
        if (!is_scope(o_[s])) run.push_back(s);
      } else if (n_[to_[s].to].parent == now_parent && to_[s].to >= low) {
        pair_runs(run, free_between(low, to_[s].to));
        run.clear();
        low = n_[to_[s].to].below;
      }
    }
    pair_runs(run, free_between(low, end));
  }

  // Free statements of the new text, also those inside others but not in other functions.
  Indices free_between(Index low, Index high) const {
    Indices found;
    for (Index j = low; j < high; j = is_scope(n_[j]) ? n_[j].below : j + 1) {
      if (now_free(j)) found.push_back(j);
    }
    std::erase_if(found, [&](Index j) { return is_scope(n_[j]); });
    return found;
  }

  void pair_runs(const Indices& old_run, const Indices& now_run) {
    if (old_run.empty() || now_run.empty()) return;
    if (old_run.size() == 1 && now_run.size() == 1 && o_[old_run[0]].kind == n_[now_run[0]].kind)
      return pair_deep(old_run[0], now_run[0], false);
    std::vector<Sketch> old_sketches, now_sketches;
    for (Index i : old_run) old_sketches.push_back(sketch(old_text_, o_[i]));
    for (Index j : now_run) now_sketches.push_back(sketch(now_text_, n_[j]));
    for (auto [p, q] : pair_alike(old_sketches, now_sketches)) {
      if (old_free(old_run[p]) && now_free(now_run[q])) pair_deep(old_run[p], now_run[q], false);
    }
  }

  // Where a function has more or fewer of a repeated statement than before, which of them went cannot be known. Twins in matched functions
  // cancel out; only the others are counted.
  void check_repeated() {
    std::map<std::pair<Index, std::uint64_t>, int> more;  // by scope of the new text and hash
    auto stays = [&](Index i) { return to_[i].same && n_[to_[i].to].scope == scope_now(o_[i].scope); };
    for (Index i = 0; i < o_.size(); ++i) {
      if (!stays(i)) --more[{scope_now(o_[i].scope), o_[i].hash}];
    }
    for (Index j = 0; j < n_.size(); ++j) {
      if (now_free(j) || !stays(from_[j])) ++more[{n_[j].scope, n_[j].hash}];
    }
    forget_repeated(more);
    // Nothing is certain inside a function or class that may be another one.
    for (Index i = 0; i < o_.size(); ++i) {
      Index scope = o_[i].scope;
      if (scope != kNoStatement && to_[scope].same && !to_[scope].certain) to_[i].certain = false;
    }
  }

  void forget_repeated(const std::map<std::pair<Index, std::uint64_t>, int>& more) {
    std::unordered_set<std::uint64_t> changed;
    for (const auto& [key, count] : more) {
      if (count != 0) changed.insert(key.second);
    }
    for (Index i = 0; i < o_.size(); ++i) {
      if (!to_[i].certain || !changed.contains(o_[i].hash)) continue;
      auto found = more.find({scope_now(o_[i].scope), o_[i].hash});
      if (found != more.end() && found->second != 0) to_[i].certain = false;
    }
  }

  std::string_view old_text_, now_text_;
  const std::vector<Statement>& o_;
  const std::vector<Statement>& n_;
  std::vector<Match> to_;
  Indices from_;
  std::unordered_map<std::uint64_t, int> bodies_;  // of functions and classes: how many more there are now
};

}  // namespace

std::vector<Match> match(const Tree::Data& old, const Tree::Data& now) {
  return Matcher(old, now).run();
}

}  // namespace hotlens::source
