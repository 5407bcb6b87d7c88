#include "annotator/advice/pairs.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;
using namespace std::chrono_literals;

namespace {

// Runs until enough is known: true step times 20 ms and 20 ms * ratio, noise, and a machine that becomes slower.
Measured verified(double ratio, double noise, double drift, std::mt19937& random) {
  std::normal_distribution<double> normal(0, noise);
  std::vector<Pair> pairs;
  double slow = 1;
  const auto run = [&](double of) {
    slow *= 1 + drift;
    return Ns{std::llround(20e6 * of * slow * std::exp(normal(random)))};
  };
  while (!enough(pairs)) {
    Pair pair;
    const bool first = pairs.size() % 2 == 0;
    if (first) pair.before = run(1);
    pair.after = run(ratio);
    if (!first) pair.before = run(1);
    pairs.push_back(pair);
  }
  return *measured(pairs);
}

}  // namespace

TEST_CASE("the same script against itself is hardly ever faster") {
  constexpr unsigned kSeed = 7;
  constexpr int kTimes = 4'000;
  std::mt19937 random(kSeed);
  for (const auto& [noise, drift] : std::vector<std::pair<double, double>>{{0.005, 0}, {0.03, 0}, {0.03, 0.003}, {0.1, 0}}) {
    int faster = 0;
    for (int at = 0; at < kTimes; ++at) faster += verified(1, noise, drift, random).faster() ? 1 : 0;
    INFO("seed " << kSeed << ", noise " << noise << ", drift " << drift);
    CHECK(faster <= kTimes / 200 + 13);  // five looks at 0.1 % each, and three standard deviations of so many tries
  }
}

TEST_CASE("a gain that is larger than the noise is found, with its size") {
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  int found = 0, holds = 0;
  for (int at = 0; at < 500; ++at) {
    const Measured measured = verified(0.85, 0.03, 0, random);
    found += measured.faster() ? 1 : 0;
    holds += measured.low <= 0.85 && 0.85 <= measured.high ? 1 : 0;
  }
  CHECK(found >= 495);
  CHECK(holds >= 490);
}

TEST_CASE("a change without effect is given up before the last pair") {
  constexpr unsigned kSeed = 13;
  constexpr std::size_t kTimes = 500;
  std::mt19937 random(kSeed);
  std::size_t pairs = 0;
  for (std::size_t at = 0; at < kTimes; ++at) pairs += verified(1, 0.01, 0, random).pairs;
  CHECK(pairs <= 13 * kTimes);  // without giving up 19.5
}

TEST_CASE("pairs that tell nothing are no measurement") {
  CHECK(!measured({}));
  CHECK(!measured({{1ms, 1ms}}));
  CHECK(!measured({{1ms, 1ms}, {0ms, 1ms}}));
  CHECK(!enough({{1ms, 1ms}, {1ms, 1ms}}));
  CHECK(enough(std::vector<Pair>(kLeastPairs, {10ms, 5ms})));
}

TEST_CASE("losses are compared where the script repeats itself") {
  const std::vector<std::vector<double>> twice{{2.0, 1.0}, {2.0, 1.0}};
  CHECK(compared(twice, {2.0, 1.0}, 1e-3) == Losses::equal);
  CHECK(compared(twice, {2.0, 1.0005}, 1e-3) == Losses::close);
  CHECK(compared(twice, {2.0, 1.1}, 1e-3) == Losses::differ);
  CHECK(compared(twice, {2.0, std::numeric_limits<double>::quiet_NaN()}, 1e-3) == Losses::differ);
  CHECK(compared({{2.0, 1.0}, {1.9, 1.0}}, {2.0, 1.0}, 1e-3) == Losses::unknown);
  CHECK(compared({{2.0}}, {2.0}, 1e-3) == Losses::unknown);
  CHECK(compared(twice, {2.0}, 1e-3) == Losses::unknown);
}
