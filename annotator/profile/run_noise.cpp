#include "annotator/profile/run_noise.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <chrono>
#include <cmath>

namespace hotlens::profile {
namespace {

constexpr double kNoOthers = 0.02;    // from process to process on a quiet machine
constexpr double kWithOthers = 0.15;  // times what others have over what they leave: recorded runs beside other work had half to all of it
constexpr double kMostOthers = 0.85;  // a script that sleeps leaves them all
constexpr double kFreedom = 4;
constexpr int kToldByQuick = 3;

double ns(Ns time) {
  return static_cast<double>(time.count());
}

// Of a side's mean, ns², and what it is worth.
struct Variance {
  double of_mean = 0, freedom = 0;
};

// What both sides would be at if nothing but chance moved them. Their geometric mean: a side that is ten times slower does not excuse
// itself.
double usual_level(const RunSamples& before, const RunSamples& after) {
  return std::sqrt(ns(before.level()) * ns(after.level()));
}

// After Welch, of parts that add up: each a variance and its degrees of freedom.
double together(const Variance& one, const Variance& other) {
  const double sum = one.of_mean + other.of_mean;
  return sum * sum / (one.of_mean * one.of_mean / one.freedom + other.of_mean * other.of_mean / other.freedom);
}

Variance variance(const RunSamples& side, double usual) {
  const auto count = static_cast<double>(side.runs.size());
  const double level = ns(side.level());
  double within = 0, between = 0, steps = 0;
  for (const Sample& run : side.runs) {
    within += run.variance / count;
    between += std::pow(ns(run.median) - level, 2);
    steps += static_cast<double>(run.count) - 1;
  }
  const double assumed = std::pow(side.prior.share * usual, 2), weight = side.prior.freedom;
  const double of_run = (weight * (within + assumed) + between) / (weight + count - 1);
  if (within + assumed <= 0) return {of_run / count, weight + count - 1};
  const double known = steps > 0 ? together({within, steps}, {assumed, weight}) : weight;
  return {of_run / count, known + count - 1};
}

Ns mean_of(const std::vector<Sample>& runs, Ns Sample::* value) {
  double sum = 0;
  for (const Sample& run : runs) sum += ns(run.*value);
  return Ns{std::llround(sum / static_cast<double>(runs.size()))};
}

// Whether the quick steps differ too, and the same way.
bool quick_steps_agree(const RunSamples& before, const RunSamples& after) {
  const Ns difference = after.level() - before.level(), of_quick = after.quick() - before.quick();
  return difference < Ns{} ? of_quick * kToldByQuick <= difference : of_quick * kToldByQuick >= difference;
}

// The part of the deviation that is assumed, of one run a side.
double assumed_apart(const RunSamples& before, const RunSamples& after) {
  return usual_level(before, after) * std::hypot(before.prior.share, after.prior.share);
}

double quantile_of_t(double freedom, double error) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(freedom), error / 2));
}

bool is_known(const RunSamples& side) {
  return side.runs.size() > 1 || side.runs.front().count > 1;
}

}  // namespace

// Where others have the share b of the processors, a step takes up to 1 / (1 − b) times as long: the more, the less certain.
Prior prior_of(std::optional<double> others) {
  const double share = std::min(others.value_or(0), kMostOthers);
  return {std::hypot(kNoOthers, kWithOthers * share / (1 - share)), kFreedom};
}

Ns RunSamples::level() const {
  return mean_of(runs, &Sample::median);
}

Ns RunSamples::quick() const {
  return mean_of(runs, &Sample::quick);
}

double error_of_each(double all, std::size_t rows) {
  return all / static_cast<double>(std::max<std::size_t>(rows, 1));
}

std::optional<Ns> noise(const RunSamples& before, const RunSamples& after, double error) {
  if (!is_known(before) || !is_known(after)) return std::nullopt;
  const double usual = usual_level(before, after);
  const Variance one = variance(before, usual), other = variance(after, usual);
  const double sum = one.of_mean + other.of_mean;
  if (sum <= 0) return kResolution;
  const double quantile = quantile_of_t(together(one, other), error);
  const double difference = std::abs(ns(after.level() - before.level()));
  double chance = quantile * std::sqrt(sum);
  if (before.runs.size() == 1 && after.runs.size() == 1) {
    const auto apart = gap(before.runs.front(), after.runs.front(), error);
    if (apart) chance = std::min(chance, std::max(difference - ns(*apart), quantile * assumed_apart(before, after)));
  }
  if (!quick_steps_agree(before, after)) chance = std::max(chance, difference);
  return std::max(kResolution, Ns{static_cast<Ns::rep>(std::min(chance, 1e18))});
}

double common_change(std::vector<Weighed> changes) {
  std::ranges::sort(changes, {}, &Weighed::change);
  double whole = 0;
  for (const Weighed& each : changes) whole += each.weight;
  double below = 0;
  for (auto each = changes.begin(); each != changes.end(); ++each) {
    below += each->weight;
    if (below * 2 < whole) continue;
    const bool between = below * 2 == whole && std::next(each) != changes.end();
    const double other = between ? std::next(each)->change : each->change;
    return std::abs(other) < std::abs(each->change) ? other : each->change;
  }
  return 0;
}

}  // namespace hotlens::profile
