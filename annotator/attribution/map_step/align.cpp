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

// How a path came to a point. `statements`: an omission that began with a statement.
enum class By : std::uint8_t { pair, insertion, omission, statements };
constexpr std::array kWays = {By::pair, By::insertion, By::omission, By::statements};
using Costs = std::array<std::int32_t, kWays.size()>;
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max() / 4;  // two of them and a cost still fit

constexpr std::int32_t kRun = 2;     // of insertions or omissions
constexpr std::int32_t kInside = 2;  // an end of a run of omissions that lies inside a call
constexpr std::int32_t kPart = 1;    // a run of omissions that is not of whole statements

constexpr std::size_t number(By by) {
  return static_cast<std::size_t>(by);
}

constexpr bool omits(By by) {
  return by == By::omission || by == By::statements;
}

// Best paths through the lattice: those of least cost.
class Paths {
 public:
  Paths(std::span<const std::uint32_t> clean, const MapSequence& map, const Lattice& lattice)
      : clean_(clean), map_(map), lattice_(lattice), to_(lattice.points, {kNever, kNever, kNever, kNever}), from_(to_) {}

  Alignment run() && {
    to_.front() = {0, kNever, kNever, kNever};
    each_edge(false, [&](const Edge& edge) {
      for (const By before : kWays) {
        std::int32_t& best = to_[edge.end][number(after(before, edge))];
        best = std::min(best, to_[edge.start][number(before)] + cost(before, edge));
      }
    });
    from_.back() = {0, 0, kPart, 0};
    each_edge(true, [&](const Edge& edge) {
      for (const By before : kWays) {
        std::int32_t& best = from_[edge.start][number(before)];
        best = std::min(best, cost(before, edge) + from_[edge.end][number(after(before, edge))]);
      }
    });
    collect();
    return std::move(result_);
  }

 private:
  struct Edge {
    std::size_t start = 0, end = 0;  // points
    By by = By::pair;                // no `statements`
    std::int64_t x = 0, y = 0;       // of the start
  };

  By after(By before, const Edge& edge) const {
    if (edge.by != By::omission) return edge.by;
    if (omits(before)) return before;
    return map_.opens[static_cast<std::size_t>(edge.y)] == Bound::statement ? By::statements : By::omission;
  }

  std::int32_t cost(By before, const Edge& edge) const {
    std::int32_t sum = 0;
    if (edge.y == 0 && omits(before)) return 0;  // no path: nothing is left out yet
    if (omits(before) && edge.by != By::omission) {
      const Bound bound = map_.closes[static_cast<std::size_t>(edge.y - 1)];
      if (bound == Bound::inside) sum += kInside;
      if (before != By::statements || bound != Bound::statement) sum += kPart;
    }
    if (edge.by == By::omission && !omits(before)) {
      sum += kRun + (map_.opens[static_cast<std::size_t>(edge.y)] == Bound::inside ? kInside : 0);
    }
    if (edge.by == By::insertion && before != By::insertion) sum += kRun;
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
    const std::int32_t best = from_.front()[number(By::pair)];
    each_edge(false, [&](const Edge& edge) {
      const bool on_best = std::ranges::any_of(kWays, [&](By before) {
        const std::int32_t path = to_[edge.start][number(before)] + cost(before, edge) + from_[edge.end][number(after(before, edge))];
        return path == best;
      });
      if (!on_best) return;
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
