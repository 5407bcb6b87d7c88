#include "annotator/attribution/map_step/align.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

namespace hotlens::attribution {
namespace {

// Beyond this many differences the steps did different things; it also bounds memory to D² numbers.
constexpr std::int64_t kMostDifferences = 3000;
// It bounds memory to 50 MB. One layer of 50 operators missing in a stack of 10,000 makes half a million.
constexpr std::size_t kMostPoints = 2'000'000;

// The table of edits from a point of two sequences: a step right leaves out an element of clean, a step down one of map, a diagonal step
// pairs two equal ones. Diagonal k holds the points x - y = k. After d differences the farthest point of each diagonal is known, and all
// points before it on that diagonal take at most d (Ukkonen 1985).
class Reach {
 public:
  template <class Equal>
  static std::optional<Reach> to_the_end(std::int64_t n, std::int64_t m, Equal equal) {
    Reach reach;
    for (std::int64_t d = 0; d <= std::min(n + m, kMostDifferences); ++d) {
      std::vector<std::int32_t> next;
      next.reserve(static_cast<std::size_t>(d + 1));
      for (std::int64_t k = -d; k <= d; k += 2) {
        std::int64_t x = d == 0 ? 0 : std::max(reach.farthest(d - 1, k - 1) + 1, reach.farthest(d - 1, k + 1));
        while (x < n && x - k < m && x - k >= 0 && equal(x, x - k)) ++x;
        next.push_back(static_cast<std::int32_t>(x));
      }
      reach.by_differences_.push_back(std::move(next));
      if (reach.farthest(d, n - m) >= n) return reach;
    }
    return std::nullopt;
  }

  std::int64_t differences() const { return std::ssize(by_differences_) - 1; }

  // -1 where d differences do not lead to the diagonal.
  std::int64_t farthest(std::int64_t d, std::int64_t k) const {
    if (d < 0 || k < -d || k > d || (d + k) % 2 != 0) return -1;
    return by_differences_[static_cast<std::size_t>(d)][static_cast<std::size_t>((k + d) / 2)];
  }

 private:
  std::vector<std::vector<std::int32_t>> by_differences_;  // diagonals -d, -d + 2, … d
};

// Points of one diagonal, `from` to `to`, that lie on a shortest path after `d` differences.
struct Segment {
  std::int64_t diagonal = 0, from = 0, to = -1;
  std::size_t first = 0;  // its points have the numbers from here on
};

// All of them, by differences; those of one number of differences by diagonal.
struct Lattice {
  std::vector<std::vector<Segment>> by_differences;
  std::size_t points = 0;
};

Lattice lattice_of(const Reach& forward, const Reach& backward, std::int64_t n, std::int64_t m) {
  const std::int64_t most = forward.differences();
  Lattice lattice;
  for (std::int64_t d = 0; d <= most; ++d) {
    std::vector<Segment>& row = lattice.by_differences.emplace_back();
    for (std::int64_t k = -d; k <= d; k += 2) {
      const std::int64_t back = backward.farthest(most - d, n - m - k);
      if (back < 0) continue;
      Segment segment{k, std::max({std::int64_t{0}, k, forward.farthest(d - 2, k) + 1, n - back}),
                      std::min({n, m + k, forward.farthest(d, k)}), lattice.points};
      if (segment.to < segment.from) continue;
      lattice.points += static_cast<std::size_t>(segment.to - segment.from + 1);
      row.push_back(segment);
    }
  }
  return lattice;
}

// How a path came to a point.
enum class By : std::uint8_t { pair, insertion, omission };
using Costs = std::array<std::int32_t, 3>;
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max() / 4;  // two of them and a cost still fit

// Best paths through the lattice. A path costs one for every run of insertions or omissions, and for every end of a run of omissions that
// lies inside a call.
class Paths {
 public:
  Paths(std::span<const std::uint32_t> clean, const MapSequence& map, const Lattice& lattice)
      : clean_(clean), map_(map), lattice_(lattice), to_(lattice.points, {kNever, kNever, kNever}), from_(to_) {}

  Alignment run() && {
    to_.front() = {0, kNever, kNever};
    each_edge(false, [&](const Edge& edge) {
      for (std::size_t before = 0; before < 3; ++before) {
        std::int32_t& best = to_[edge.end][static_cast<std::size_t>(edge.by)];
        best = std::min(best, to_[edge.start][before] + cost(static_cast<By>(before), edge));
      }
    });
    from_.back() = {0, 0, 0};
    each_edge(true, [&](const Edge& edge) {
      for (std::size_t before = 0; before < 3; ++before) {
        std::int32_t& best = from_[edge.start][before];
        best = std::min(best, cost(static_cast<By>(before), edge) + from_[edge.end][static_cast<std::size_t>(edge.by)]);
      }
    });
    collect();
    return std::move(result_);
  }

 private:
  struct Edge {
    std::size_t start = 0, end = 0;  // points
    By by = By::pair;
    std::int64_t x = 0, y = 0;  // of the start
  };

  std::int32_t cost(By before, const Edge& edge) const {
    std::int32_t sum = 0;
    if (edge.y == 0 && before == By::omission) return 0;  // no path: nothing is left out yet
    if (before == By::omission && edge.by != By::omission && !map_.closes[static_cast<std::size_t>(edge.y - 1)]) ++sum;
    if (edge.by == By::omission && before != By::omission && !map_.opens[static_cast<std::size_t>(edge.y)]) ++sum;
    if (edge.by != By::pair && edge.by != before) ++sum;
    return sum;
  }

  // Edges in an order in which all that lead to a point come before those that leave it; or the other way round.
  template <class Use>
  void each_edge(bool backwards, Use use) const {
    const auto rows = static_cast<std::int64_t>(lattice_.by_differences.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto d = static_cast<std::size_t>(backwards ? rows - 1 - row : row);
      for (const Segment& segment : lattice_.by_differences[d]) {
        const Segment* right = segment_at(d + 1, segment.diagonal + 1);
        const Segment* down = segment_at(d + 1, segment.diagonal - 1);
        for (std::int64_t i = 0; i <= segment.to - segment.from; ++i) {
          edges_at(segment, backwards ? segment.to - i : segment.from + i, right, down, use);
        }
      }
    }
  }

  template <class Use>
  void edges_at(const Segment& segment, std::int64_t x, const Segment* right, const Segment* down, Use use) const {
    const std::int64_t y = x - segment.diagonal;
    const std::size_t start = segment.first + static_cast<std::size_t>(x - segment.from);
    const auto point = [](const Segment& on, std::int64_t at) { return on.first + static_cast<std::size_t>(at - on.from); };
    if (x < segment.to && clean_[static_cast<std::size_t>(x)] == map_.words[static_cast<std::size_t>(y)]) {
      use(Edge{start, start + 1, By::pair, x, y});
    }
    if (right && x + 1 >= right->from && x + 1 <= right->to) use(Edge{start, point(*right, x + 1), By::insertion, x, y});
    if (down && x >= down->from && x <= down->to) use(Edge{start, point(*down, x), By::omission, x, y});
  }

  const Segment* segment_at(std::size_t d, std::int64_t k) const {
    if (d >= lattice_.by_differences.size()) return nullptr;
    const std::vector<Segment>& row = lattice_.by_differences[d];
    const auto found = std::ranges::lower_bound(row, k, {}, &Segment::diagonal);
    return found != row.end() && found->diagonal == k ? &*found : nullptr;
  }

  void collect() {
    result_.extra.assign(clean_.size(), false);
    const std::int32_t best = from_.front()[0];
    each_edge(false, [&](const Edge& edge) {
      std::int32_t least = kNever;
      for (std::size_t before = 0; before < 3; ++before) {
        least = std::min(least, to_[edge.start][before] + cost(static_cast<By>(before), edge));
      }
      if (least + from_[edge.end][static_cast<std::size_t>(edge.by)] != best) return;
      if (edge.by == By::insertion) result_.extra[static_cast<std::size_t>(edge.x)] = true;
      if (edge.by == By::pair) add_pair(static_cast<std::uint32_t>(edge.x), static_cast<std::uint32_t>(edge.y));
    });
  }

  void add_pair(std::uint32_t clean, std::uint32_t map) {
    std::vector<TwinRun>& runs = result_.runs;
    const bool goes_on = !runs.empty() && runs.back().clean + runs.back().length == clean && runs.back().map + runs.back().length == map;
    if (goes_on) {
      ++runs.back().length;
    } else {
      runs.push_back({clean, map, 1});
    }
  }

  std::span<const std::uint32_t> clean_;
  const MapSequence& map_;
  const Lattice& lattice_;
  std::vector<Costs> to_, from_;  // by point: least cost up to it by the last edge, and on from it after that edge
  Alignment result_;
};

Alignment none(std::size_t elements) {
  return {.runs = {}, .extra = std::vector<bool>(elements, true)};
}

}  // namespace

Alignment align(std::span<const std::uint32_t> clean, const MapSequence& map) {
  if (clean.empty() || map.words.empty()) return none(clean.size());
  if (std::ranges::equal(clean, map.words)) {
    return {.runs = {{0, 0, static_cast<std::uint32_t>(clean.size())}}, .extra = std::vector<bool>(clean.size())};
  }
  const std::int64_t n = std::ssize(clean);
  const std::int64_t m = std::ssize(map.words);
  const auto word = [](const auto& words, std::int64_t at) { return words[static_cast<std::size_t>(at)]; };
  const auto forward = Reach::to_the_end(n, m, [&](std::int64_t x, std::int64_t y) { return word(clean, x) == word(map.words, y); });
  if (!forward) return none(clean.size());
  const auto backward =
      Reach::to_the_end(n, m, [&](std::int64_t x, std::int64_t y) { return word(clean, n - 1 - x) == word(map.words, m - 1 - y); });
  if (!backward) return none(clean.size());
  const Lattice lattice = lattice_of(*forward, *backward, n, m);
  if (lattice.points > kMostPoints) return none(clean.size());
  return Paths(clean, map, lattice).run();
}

}  // namespace hotlens::attribution
