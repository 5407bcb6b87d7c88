#include "annotator/timeline/align.h"

#include <algorithm>

namespace hotlens::timeline {
namespace {

// Beyond this many differences the steps did different things and twins would be guesses; it also bounds memory to D² words.
constexpr std::ptrdiff_t kMostDifferences = 3000;

// How far each diagonal k = x - y came with d differences; index k + d.
using Frontier = std::vector<std::ptrdiff_t>;

// Where diagonal `k` starts after one more difference: from the diagonal above (an element of map alone) or below (one of clean alone).
struct Entry {
  std::ptrdiff_t x = 0;       // on the new diagonal
  std::ptrdiff_t from_x = 0;  // before the difference
  std::ptrdiff_t from_k = 0;
};

Entry enter(const Frontier& before, std::ptrdiff_t d, std::ptrdiff_t k) {
  const auto at = [&](std::ptrdiff_t diagonal) { return before[static_cast<std::size_t>(diagonal + d - 1)]; };
  const bool has_below = k - 1 >= -(d - 1);
  const bool has_above = k + 1 <= d - 1;
  const bool from_above = !has_below || (has_above && at(k - 1) < at(k + 1));
  if (from_above) return {at(k + 1), at(k + 1), k + 1};
  return {at(k - 1) + 1, at(k - 1), k - 1};
}

class Middle {
 public:
  Middle(std::span<const std::uint32_t> clean, std::span<const std::uint32_t> map)
      : clean_(clean), map_(map), n_(static_cast<std::ptrdiff_t>(clean.size())), m_(static_cast<std::ptrdiff_t>(map.size())) {}

  // Fills `twins`, both sides counted from `offset`; leaves it alone when the sequences differ too much.
  void match(std::vector<std::uint32_t>& twins, std::size_t offset) {
    for (std::ptrdiff_t d = 0; d <= std::min(n_ + m_, kMostDifferences); ++d) {
      Frontier next(static_cast<std::size_t>(2 * d + 1));
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        std::ptrdiff_t x = d == 0 ? 0 : enter(frontiers_.back(), d, k).x;
        while (equal_at(x, x - k)) ++x;
        next[static_cast<std::size_t>(k + d)] = x;
        if (x >= n_ && x - k >= m_) {
          trace_back(d, k, x, twins, offset);
          return;
        }
      }
      frontiers_.push_back(std::move(next));
    }
  }

 private:
  bool equal_at(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return x >= 0 && y >= 0 && x < n_ && y < m_ && clean_[static_cast<std::size_t>(x)] == map_[static_cast<std::size_t>(y)];
  }

  void trace_back(std::ptrdiff_t d, std::ptrdiff_t k, std::ptrdiff_t x, std::vector<std::uint32_t>& twins, std::size_t offset) const {
    for (; d >= 0; --d) {
      const Entry entry = d == 0 ? Entry{} : enter(frontiers_[static_cast<std::size_t>(d - 1)], d, k);
      for (; x > entry.x; --x) {
        if (equal_at(x - 1, x - 1 - k)) {
          twins[static_cast<std::size_t>(x - 1) + offset] = static_cast<std::uint32_t>(static_cast<std::size_t>(x - 1 - k) + offset);
        }
      }
      x = entry.from_x;
      k = entry.from_k;
    }
  }

  std::span<const std::uint32_t> clean_, map_;
  std::ptrdiff_t n_, m_;
  std::vector<Frontier> frontiers_;
};

}  // namespace

std::vector<std::uint32_t> align(std::span<const std::uint32_t> clean, std::span<const std::uint32_t> map) {
  std::vector<std::uint32_t> twins(clean.size(), kNoTwin);
  const std::size_t shorter = std::min(clean.size(), map.size());
  std::size_t prefix = 0;
  for (; prefix < shorter && clean[prefix] == map[prefix]; ++prefix) twins[prefix] = static_cast<std::uint32_t>(prefix);
  std::size_t suffix = 0;
  for (; suffix < shorter - prefix && clean[clean.size() - 1 - suffix] == map[map.size() - 1 - suffix]; ++suffix) {
    twins[clean.size() - 1 - suffix] = static_cast<std::uint32_t>(map.size() - 1 - suffix);
  }
  Middle(clean.subspan(prefix, clean.size() - prefix - suffix), map.subspan(prefix, map.size() - prefix - suffix)).match(twins, prefix);
  return twins;
}

}  // namespace hotlens::timeline
