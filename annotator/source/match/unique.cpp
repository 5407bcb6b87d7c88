#include "annotator/source/match/unique.h"

#include <algorithm>

namespace hotlens::source {
namespace {

// The longest run of pairs that increases on both sides (patience sorting); the pairs come increasing in the first.
Places increasing(const Places& pairs) {
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
  Places run;
  if (piles.empty()) return run;
  for (std::size_t p = piles.back();; p = before[p]) {
    run.push_back(pairs[p]);
    if (before[p] == p) break;
  }
  std::ranges::reverse(run);
  return run;
}

}  // namespace

std::unordered_map<std::uint64_t, std::uint32_t> unique(const std::vector<Statement>& list, std::span<const std::uint32_t> indices,
                                                        Key key) {
  std::unordered_map<std::uint64_t, std::uint32_t> found;
  found.reserve(indices.size());
  for (std::uint32_t i : indices) {
    auto [at, added] = found.emplace(list[i].*key, i);
    if (!added) at->second = kNoStatement;
  }
  return found;
}

Places unique_in_both(const std::vector<Statement>& old_statements, std::span<const std::uint32_t> old_list,
                      const std::vector<Statement>& now_statements, std::span<const std::uint32_t> now_list, Key key) {
  auto in_old = unique(old_statements, old_list, key), in_now = unique(now_statements, now_list, key);
  std::unordered_map<std::uint32_t, std::uint32_t> place;
  for (std::uint32_t q = 0; q < now_list.size(); ++q) place.emplace(now_list[q], q);
  Places pairs;
  for (std::uint32_t p = 0; p < old_list.size(); ++p) {
    std::uint64_t k = old_statements[old_list[p]].*key;
    if (in_old[k] != old_list[p]) continue;
    auto twin = in_now.find(k);
    if (twin != in_now.end() && twin->second != kNoStatement) pairs.emplace_back(p, place[twin->second]);
  }
  return increasing(pairs);
}

}  // namespace hotlens::source
