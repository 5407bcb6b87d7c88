#include <algorithm>
#include <cmath>

#include "annotator/report/target/target.h"

namespace hotlens::target {
namespace {

constexpr std::size_t kLeastForTrend = 4;  // points; two are a straight line whatever they say
constexpr double kMostNs = 9e18;           // fits a whole number of nanoseconds

bool falls(const Log& log, double target) {
  return log.points.front().value > target;
}

bool reaches(double value, double target, bool falling) {
  return falling ? value <= target : value >= target;
}

std::optional<Ns> times(std::optional<Ns> each, std::optional<double> units) {
  if (!each || !units) return std::nullopt;
  const double ns = static_cast<double>(each->count()) * *units;
  return ns >= 0 && ns < kMostNs ? std::optional(Ns{std::llround(ns)}) : std::nullopt;
}

// Units from the last point on, if the value goes on as in the last half of the points: a straight line, by least squares.
std::optional<double> by_trend(const std::vector<Point>& points, double target, bool falling) {
  if (points.size() < kLeastForTrend) return std::nullopt;
  const std::size_t begin = points.size() / 2;
  const auto count = static_cast<double>(points.size() - begin);
  double x = 0, y = 0;
  for (std::size_t at = begin; at < points.size(); ++at) x += points[at].at / count, y += points[at].value / count;
  double xy = 0, xx = 0;
  for (std::size_t at = begin; at < points.size(); ++at) {
    xy += (points[at].at - x) * (points[at].value - y);
    xx += (points[at].at - x) * (points[at].at - x);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  if (slope == 0 || (slope < 0) != falling) return std::nullopt;
  const double left = x + (target - y) / slope - points.back().at;
  return std::isfinite(left) ? std::optional(std::max(left, 0.0)) : std::nullopt;
}

// Of one unit, by the log's own clock from its start to its last point.
std::optional<Ns> by_clock(const Log& log) {
  const Point &first = log.points.front(), &last = log.points.back();
  const auto begin = log.started ? log.started : first.time;
  const double units = log.started ? last.at : last.at - first.at;
  if (!begin || !last.time || log.counted || units <= 0 || *last.time <= *begin) return std::nullopt;
  return Ns{static_cast<std::int64_t>(static_cast<double>((*last.time - *begin).count()) / units)};
}

std::optional<Ns> by_profile(const Log& log, const Asked& asked) {
  if (!asked.step || log.unit == Unit::epochs) return std::nullopt;
  if (log.unit == Unit::steps) return asked.step;
  if (!asked.samples_per_step || *asked.samples_per_step <= 0) return std::nullopt;
  return Ns{asked.step->count() / *asked.samples_per_step};
}

}  // namespace

std::optional<Ns> Answer::rest() const {
  return times(each, left);
}

std::optional<Ns> Answer::all() const {
  if (took && reached) return took;
  if (took && rest()) return *took + *rest();
  return left ? times(each, now.at + *left) : reached ? times(each, now.at) : std::nullopt;
}

Result<Answer> answer(const Log& log, const Asked& asked) {
  const auto target = asked.target ? asked.target : log.target;
  if (!target) return std::unexpected(Error{ErrorCode::usage, "the log does not tell its target: name it, as in --target 2.0", {}});
  Answer found{
      .target = *target, .first = log.points.front(), .now = log.points.back(), .profile = {}, .no_rest = {}, .changes = asked.changes};
  const bool falling = falls(log, *target);
  const auto there = std::ranges::find_if(log.points, [&](const Point& point) { return reaches(point.value, *target, falling); });
  found.reached = there != log.points.end();
  if (found.reached) found.now = *there;
  const auto begin = log.started ? log.started : found.first.time;
  if (begin && found.now.time && *found.now.time >= *begin) found.took = *found.now.time - *begin;
  found.each = by_clock(log);
  found.by_profile = !found.each;
  if (found.by_profile) found.each = by_profile(log, asked);
  if ((found.by_profile && found.each) || !found.changes.empty()) found.profile = asked.profile;
  if (found.reached) return found;
  if (asked.total) {
    if (*asked.total < found.now.at) {
      return std::unexpected(Error{ErrorCode::usage, "--total-steps is less than what the log has already", {}});
    }
    found.left = *asked.total - found.now.at;
  } else {
    found.left = by_trend(log.points, *target, falling);
    found.by_trend = true;
  }
  if (!found.left) {
    found.no_rest = log.points.size() < kLeastForTrend
                        ? "too few points for a trend; say how many steps it takes with --total-steps"
                        : "the value does not move towards the target; say how many steps it takes with --total-steps";
  } else if (!found.each) {
    found.no_rest = "neither the log nor a profile tells how long one of them takes";
  }
  return found;
}

}  // namespace hotlens::target
