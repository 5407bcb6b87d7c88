#include "annotator/attribution/map_step/align.h"

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "tests/unit/catch.h"

using namespace hotlens::attribution;

namespace {

using Words = std::vector<std::uint32_t>;
using Pairs = std::set<std::pair<std::size_t, std::size_t>>;

// What leaves out of the map nothing but whole calls: single elements are calls of their own.
MapSequence flat(const Words& words) {
  return {words, std::vector(words.size(), Bound::call), std::vector(words.size(), Bound::call)};
}

struct Truth {
  Pairs pairs;
  std::vector<bool> extra;
};

// Least cost from a point of the whole table to its end after an edge of each kind, by the textbook recursion: differences first, then runs
// of insertions and omissions, ends of omissions inside a call, and omissions that are not of whole statements.
class Best {
 public:
  static constexpr int kDifference = 1000;
  enum Last { pair, insertion, omission, statements };

  Best(const Words& clean, const MapSequence& map) : clean_(clean), map_(map), known_((clean.size() + 1) * (map.words.size() + 1)) {}

  int from(std::size_t x, std::size_t y, Last last) {
    std::optional<int>& known = known_[x * (map_.words.size() + 1) + y][last];
    if (known) return *known;
    int best = std::numeric_limits<int>::max();
    if (x == clean_.size() && y == map_.words.size()) best = last == omission ? 1 : 0;
    if (pairs(x, y)) best = std::min(best, step(last, pair, y) + from(x + 1, y + 1, pair));
    if (x < clean_.size()) best = std::min(best, step(last, insertion, y) + from(x + 1, y, insertion));
    if (y < map_.words.size()) best = std::min(best, step(last, omission, y) + from(x, y + 1, omitting(last, y)));
    known = best;
    return best;
  }

  bool pairs(std::size_t x, std::size_t y) const { return x < clean_.size() && y < map_.words.size() && clean_[x] == map_.words[y]; }

  Last omitting(Last before, std::size_t y) const {
    if (before == omission || before == statements) return before;
    return map_.opens[y] == Bound::statement ? statements : omission;
  }

  int step(Last before, Last now, std::size_t y) const {
    const bool omitted = before == omission || before == statements;
    int cost = now == pair ? 0 : kDifference;
    if (omitted && now != omission) {
      cost += map_.closes[y - 1] == Bound::inside ? 2 : 0;
      cost += before == statements && map_.closes[y - 1] == Bound::statement ? 0 : 1;
    }
    if (now == omission && !omitted) cost += map_.opens[y] == Bound::inside ? 4 : 2;
    if (now == insertion && before != insertion) cost += 2;
    return cost;
  }

 private:
  const Words& clean_;
  const MapSequence& map_;
  std::vector<std::array<std::optional<int>, 4>> known_;
};

// Everything on some best path, followed from the start.
Truth truth(const Words& clean, const MapSequence& map) {
  Best best(clean, map);
  Truth found{{}, std::vector<bool>(clean.size())};
  std::set<std::tuple<std::size_t, std::size_t, Best::Last>> seen;
  std::vector<std::tuple<std::size_t, std::size_t, Best::Last>> open = {{0, 0, Best::pair}};
  while (!open.empty()) {
    const auto at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const auto [x, y, last] = at;
    const int rest = best.from(x, y, last);
    const auto leads = [&, y = y, last = last](Best::Last now, Best::Last then, std::size_t to_x, std::size_t to_y) {
      return best.step(last, now, y) + best.from(to_x, to_y, then) == rest;
    };
    if (best.pairs(x, y) && leads(Best::pair, Best::pair, x + 1, y + 1)) {
      found.pairs.emplace(x, y);
      open.emplace_back(x + 1, y + 1, Best::pair);
    }
    if (x < clean.size() && leads(Best::insertion, Best::insertion, x + 1, y)) {
      found.extra[x] = true;
      open.emplace_back(x + 1, y, Best::insertion);
    }
    if (y >= map.words.size()) continue;
    const Best::Last then = best.omitting(last, y);
    if (leads(Best::omission, then, x, y + 1)) open.emplace_back(x, y + 1, then);
  }
  return found;
}

Pairs pairs_of(const Alignment& alignment) {
  Pairs pairs;
  for (const TwinRun& run : alignment.runs) {
    for (std::uint32_t i = 0; i < run.length; ++i) pairs.emplace(run.clean + i, run.map + i);
  }
  return pairs;
}

}  // namespace

TEST_CASE("equal sequences map one to one") {
  const Words words = {5, 1, 5, 2, 2, 9};
  CHECK(align(words, flat(words)).runs == std::vector<TwinRun>{{0, 0, 6}});
  CHECK(align(Words{}, flat(words)).runs.empty());
  CHECK(align(words, flat({})).extra == std::vector<bool>(6, true));
}

TEST_CASE("an operator more or less leaves its neighbours with their twins") {
  const Alignment more = align(Words{1, 2, 9, 3}, flat({1, 2, 3}));
  CHECK(pairs_of(more) == Pairs{{0, 0}, {1, 1}, {3, 2}});
  CHECK(more.extra == std::vector<bool>{false, false, true, false});
  const Alignment less = align(Words{1, 2, 3}, flat({1, 9, 2, 3}));
  CHECK(pairs_of(less) == Pairs{{0, 0}, {1, 2}, {2, 3}});
  CHECK(less.extra == std::vector<bool>(3, false));
}

TEST_CASE("of equal repeats of which one is missing, each may be any") {
  const Alignment alignment = align(Words{1, 5, 5, 2}, flat({1, 5, 5, 5, 2}));
  CHECK(pairs_of(alignment) == Pairs{{0, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 4}});
}

TEST_CASE("what is left out of the map begins and ends with a call where that can be") {
  // A call (1 2 1) that ran twice in the map step and once here: no piece of one with a piece of the other.
  constexpr Bound call = Bound::call, in = Bound::inside;
  const MapSequence map{{1, 2, 1, 1, 2, 1}, {call, in, in, call, in, in}, {in, in, call, in, in, call}};
  CHECK(pairs_of(align(Words{1, 2, 1}, map)) == Pairs{{0, 0}, {1, 1}, {2, 2}, {0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("what is left out of the map is whole statements where that can be") {
  // Two passes that end alike; the second is a statement of its own that did not run here.
  constexpr Bound line = Bound::statement, call = Bound::call;
  const MapSequence map{{1, 5, 2, 5, 9}, {line, call, line, call, line}, {call, line, call, line, line}};
  CHECK(pairs_of(align(Words{1, 5, 9}, map)) == Pairs{{0, 0}, {1, 1}, {2, 4}});
  const MapSequence last{{1, 5, 2, 5}, {line, call, line, call}, {call, line, call, line}};
  CHECK(pairs_of(align(Words{1, 5}, last)) == Pairs{{0, 0}, {1, 1}});
  // Of equal layers in a statement the first is no likelier to be left out than the last.
  const MapSequence layers{{5, 5, 5}, {line, call, call}, {call, call, line}};
  CHECK(pairs_of(align(Words{5, 5}, layers)) == Pairs{{0, 0}, {0, 1}, {1, 1}, {1, 2}});
}

TEST_CASE("any two sequences: the pairs and omissions are those of all best explanations") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 generator(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(generator() % n); };
  for (int round = 0; round < 3000; ++round) {
    Words a(below(24)), b(below(24));
    const std::uint32_t letters = 1 + below(5);
    for (auto& word : a) word = below(letters);
    MapSequence map;
    for (auto& word : b) {
      map.words.push_back(word = below(letters));
      map.opens.push_back(static_cast<Bound>(below(3)));
      map.closes.push_back(static_cast<Bound>(below(3)));
    }
    const Alignment alignment = align(a, map);
    const Truth expected = truth(a, map);
    REQUIRE(pairs_of(alignment) == expected.pairs);
    REQUIRE(alignment.extra == expected.extra);
  }
}

TEST_CASE("sequences with nothing in common, or of one word alone, end soon and match nothing") {
  CHECK(align(Words(20000, 1), flat(Words(20000, 2))).runs.empty());
  CHECK(align(Words(60000, 1), flat(Words(58000, 1))).runs.empty());
}
