#include "annotator/lab/layers/match/subsequence.h"

#include <algorithm>

namespace hotlens::layers {

IndexPairs common_subsequence(std::size_t n, std::size_t m, const std::function<std::size_t(std::size_t, std::size_t)>& likeness) {
  std::vector<std::vector<std::size_t>> like(n, std::vector<std::size_t>(m)), best(n + 1, std::vector<std::size_t>(m + 1));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      like[i][j] = likeness(i, j);
      best[i][j] = std::max({best[i + 1][j], best[i][j + 1], like[i][j] == 0 ? 0 : like[i][j] + best[i + 1][j + 1]});
    }
  }
  IndexPairs found;
  for (std::size_t i = 0, j = 0; i < n && j < m;) {
    if (like[i][j] != 0 && best[i][j] == like[i][j] + best[i + 1][j + 1]) {
      found.emplace_back(i++, j++);
    } else {
      ++(best[i][j] == best[i + 1][j] ? i : j);
    }
  }
  return found;
}

}  // namespace hotlens::layers
