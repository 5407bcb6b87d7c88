#include "annotator/timeline/align.h"

#include <algorithm>
#include <random>

#include "tests/unit/catch.h"

using namespace hotlens::timeline;

namespace {

using Words = std::vector<std::uint32_t>;

// The length of the longest common subsequence, by the textbook table.
std::size_t longest(const Words& a, const Words& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
    }
  }
  return table[a.size()][b.size()];
}

std::size_t matched(const Words& twins) {
  return static_cast<std::size_t>(std::ranges::count_if(twins, [](std::uint32_t twin) { return twin != kNoTwin; }));
}

}  // namespace

TEST_CASE("equal sequences map one to one") {
  const Words words = {5, 1, 5, 2, 2, 9};
  CHECK(align(words, words) == Words{0, 1, 2, 3, 4, 5});
  CHECK(align(Words{}, words).empty());
  CHECK(align(words, Words{}) == Words(6, kNoTwin));
}

TEST_CASE("an operator more or less leaves its neighbours with their twins") {
  CHECK(align(Words{1, 2, 9, 3}, Words{1, 2, 3}) == Words{0, 1, kNoTwin, 2});
  CHECK(align(Words{1, 2, 3}, Words{1, 9, 2, 3}) == Words{0, 2, 3});
}

TEST_CASE("any two sequences: twins are equal words in rising order, and as many as there can be") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 generator(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(generator() % n); };
  for (int round = 0; round < 2000; ++round) {
    Words a(below(24)), b(below(24));
    const std::uint32_t letters = 1 + below(5);
    for (auto& word : a) word = below(letters);
    for (auto& word : b) word = below(letters);
    const Words twins = align(a, b);
    REQUIRE(twins.size() == a.size());
    std::int64_t last = -1;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (twins[i] == kNoTwin) continue;
      REQUIRE(twins[i] < b.size());
      REQUIRE(a[i] == b[twins[i]]);
      REQUIRE(static_cast<std::int64_t>(twins[i]) > last);
      last = twins[i];
    }
    REQUIRE(matched(twins) == longest(a, b));
  }
}

TEST_CASE("sequences with nothing in common end soon and match nothing") {
  CHECK(matched(align(Words(20000, 1), Words(20000, 2))) == 0);
}
