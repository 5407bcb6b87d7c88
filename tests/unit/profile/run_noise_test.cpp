#include "annotator/profile/run_noise.h"

#include <random>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

constexpr double kStep = 10e6;  // ns
constexpr int kTrials = 2000;

// Runs of a machine: each shifts all of its steps, each step differs a little, and now and then something interrupts one.
struct Machine {
  double between = 0.02, within = 0.03;
  double interrupted = 0;  // share of the steps
  double slice = 0.5;      // what an interruption takes, in steps
  std::mt19937 random{7};

  std::vector<Ns> run(double level, std::size_t steps = 5) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> chance;
    const double shift = level * (1 + between * normal(random));
    std::vector<Ns> values;
    for (std::size_t step = 0; step < steps; ++step) {
      const double extra = chance(random) < interrupted ? kStep * slice : 0;
      values.push_back(Ns{std::llround(shift * (1 + within * normal(random)) + extra)});
    }
    return values;
  }
  RunSamples side(std::size_t runs, double level, const Prior& prior) {
    RunSamples side{.runs = {}, .prior = prior};
    for (std::size_t each = 0; each < runs; ++each) side.runs.push_back(sample(run(level)));
    return side;
  }
};

// How often a difference is called one.
double told(Machine machine, std::size_t runs, double ratio, const Prior& prior, double error = 0.01) {
  int count = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const RunSamples before = machine.side(runs, kStep, prior), after = machine.side(runs, kStep * ratio, prior);
    count += std::chrono::abs(after.level() - before.level()) > *noise(before, after, error);
  }
  return static_cast<double>(count) / kTrials;
}

}  // namespace

TEST_CASE("equal sides are called changed as rarely as wanted") {
  const Prior quiet = prior_of(std::nullopt), busy = prior_of(0.6);
  for (const std::size_t runs : {1, 2, 3, 5}) {
    CAPTURE(runs);
    CHECK(told({}, runs, 1, quiet) <= 0.01);
    CHECK(told({.between = 0.18, .within = 0.1, .interrupted = 0.3}, runs, 1, busy) <= 0.01);
    CHECK(told({.within = 0.01, .interrupted = 0.15}, runs, 1, quiet) <= 0.01);
    CHECK(told({.between = 0.18, .within = 0.01, .interrupted = 0.12, .slice = 5}, runs, 1, busy, 0.0025) <= 0.0025);  // a short layer
  }
}

TEST_CASE("a spread twice as wide as assumed is seen with several runs") {
  const double once = told({.between = 0.05}, 1, 1, prior_of(std::nullopt));
  const double five = told({.between = 0.05}, 5, 1, prior_of(std::nullopt));
  CHECK(once > 0.02);
  CHECK(five < once / 2);
}

TEST_CASE("more runs find smaller changes") {
  const Prior quiet = prior_of(std::nullopt);
  CHECK(told({}, 1, 1.25, quiet) > 0.9);
  CHECK(told({}, 1, 1.08, quiet) < 0.5);
  CHECK(told({}, 3, 1.12, quiet) > 0.9);
  CHECK(told({}, 5, 1.08, quiet) > 0.9);
  CHECK(told({}, 3, 0.88, quiet) > 0.9);
}

TEST_CASE("others beside a run widen what is assumed") {
  CHECK(prior_of(0.5).share > 5 * prior_of(std::nullopt).share);
}

TEST_CASE("noise of runs is not known for a single step") {
  const RunSamples one{.runs = {sample({Ns{5}})}, .prior = prior_of(std::nullopt)};
  const RunSamples three{.runs = {sample({Ns{5}}), sample({Ns{5}}), sample({Ns{5}})}, .prior = prior_of(std::nullopt)};
  CHECK_FALSE(noise(one, three, 0.01));
  CHECK(*noise(three, three, 0.01) == kResolution);
}

TEST_CASE("what most of the time agrees on is the machine's") {
  CHECK(common_change({}) == 0);
  CHECK(common_change({{0.5, 1}, {0.1, 5}, {0.12, 4}}) == 0.1);
  CHECK(common_change({{0.3, 1}, {0, 1}}) == 0);
  CHECK(common_change({{0, 1}, {-0.3, 1}}) == 0);
  CHECK(error_of_each(0.05, 0) == 0.05);
  CHECK(error_of_each(0.05, 10) == 0.005);
}
