#include "server/lab/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotator/common/format.h"
#include "annotator/lab/checkpoint/plans.h"
#include "annotator/profile/spread.h"
#include "server/lab/replayable.h"
#include "server/lab/worker.h"

namespace hotlens::lab {
namespace {

using std::chrono::milliseconds;

constexpr int kSampleRounds = 5;
constexpr Rounds kCurveRounds{.least = 5, .most = 21, .within = milliseconds(8'000)};  // of all points of the curve
constexpr std::size_t kMostPoints = 6;                                                 // beside the unchanged step
constexpr double kStep = 0.01;  // of the unchanged peak: points that differ less are one

std::vector<std::int64_t> numbers(const Choice& choice) {
  std::vector<std::int64_t> found;
  for (std::size_t at = 0; at < choice.size(); ++at) {
    if (choice[at]) found.push_back(static_cast<std::int64_t>(at));
  }
  return found;
}

std::vector<std::vector<std::int64_t>> numbers(const std::vector<Choice>& choices) {
  std::vector<std::vector<std::int64_t>> found;
  for (const Choice& choice : choices) found.push_back(numbers(choice));
  return found;
}

// Those to be replayed, of the best: none first, apart from each other, the lowest peak and the one for the budget among them.
std::vector<Plan> shown(const std::vector<Plan>& best, const std::optional<Bytes>& budget) {
  const auto fits = std::ranges::find_if(best, [&](const Plan& plan) { return budget && plan.peak <= count(*budget); });
  const double apart = kStep * static_cast<double>(best.front().peak);
  std::vector<std::size_t> distinct{0};
  for (std::size_t at = 1; at < best.size(); ++at) {
    const bool wanted = best.begin() + static_cast<std::ptrdiff_t>(at) == fits || at + 1 == best.size();
    if (wanted || static_cast<double>(best[distinct.back()].peak - best[at].peak) >= apart) distinct.push_back(at);
  }
  std::vector<Plan> plans;
  const std::size_t points = distinct.size() - 1;
  for (std::size_t at = 0; at <= points; ++at) {
    // The k-th of kMostPoints is the first at or beyond that part of the way.
    const bool evenly = points <= kMostPoints || at == 0 || (at * kMostPoints) / points != ((at - 1) * kMostPoints) / points;
    if (evenly || best.begin() + static_cast<std::ptrdiff_t>(distinct[at]) == fits) plans.push_back(best[distinct[at]]);
  }
  return plans;
}

std::vector<Plan> all_or_none(const StepCosts& costs) {
  std::vector<Plan> plans{plan_of(costs, Choice(costs.blocks.size(), false))};
  Plan all = plan_of(costs, Choice(costs.blocks.size(), true));
  if (all.peak < plans.front().peak) plans.push_back(std::move(all));
  return plans;
}

// A fused update has no temporaries of its own: where the peak is in the update, that may lower it.
NotThis why_none(const std::string& kind, const StepCosts& costs, const Bytes peak) {
  if (!peak_is_in_update(costs, Choice(costs.blocks.size(), false))) {
    return {kind,
            {.reason = fmt::format("the peak, {}, is not in what these blocks keep: checkpointing them does not lower it",
                                   format::readable(peak))}};
  }
  return {kind,
          {.reason = fmt::format("the peak, {}, is in the optimizer: checkpointing does not lower it", format::readable(peak))},
          "fused_optimizer"};
}

// The least time within the budget; without one, or where nothing is within it, the lowest peak.
std::size_t chosen(const Curve& curve) {
  const auto within = [&](const CurvePoint& point) { return curve.budget && point.peak <= *curve.budget; };
  const auto found = std::ranges::find_if(curve.points, within);
  if (found != curve.points.end()) return static_cast<std::size_t>(found - curve.points.begin());
  return static_cast<std::size_t>(std::ranges::min_element(curve.points, {}, &CurvePoint::peak) - curve.points.begin());
}

// From the rounds of one choice alone: whatever else the machine does hits a step and the second runs in it alike.
std::optional<Ratio> slower_by(const Replays& replayed, Ns step, double error) {
  auto time = ratio_of(without_second_runs(replayed), replayed, error);
  if (!time || step <= Ns{}) return time;
  const double python = static_cast<double>(python_of(replayed.again).count()) / static_cast<double>(step.count());
  return Ratio{.ratio = time->ratio + python, .low = time->low + python, .high = time->high + python};
}

void choose(WhatIf& item) {
  Curve& curve = *item.curve;
  curve.chosen = chosen(curve);
  const CurvePoint& point = curve.points[curve.chosen];
  curve.within = !curve.budget || point.peak <= *curve.budget;
  item.time = point.time;
  item.step = point.step;
  item.peak = point.peak;
  item.modules = point.blocks;
  for (Part& part : item.parts) part.modules = point.blocks;
}

}  // namespace

std::expected<WhatIf, NotThis> plan_checkpoints(const CheckpointAsk& ask, WhatIf item, const Program& program) {
  const auto refuse = [&](std::string reason) { return std::unexpected(NotThis{item.kind, {.reason = std::move(reason)}}); };
  const auto refused = [&](const Refusal& why) { return std::unexpected(NotThis{item.kind, {why.reason, why.op, why.module}}); };
  const std::vector<std::string> blocks = item.modules;
  const std::int64_t batch = std::max<std::int64_t>(ask.recorded.batch, 1);
  Worker worker(ask.worker, encode(program), ask.memory);
  ask.say(fmt::format("replaying {}: {} blocks", item.kind, blocks.size()));
  const auto sampled =
      worker.step({.batches = {batch}, .rounds = kSampleRounds, .budget = kLongest, .plans = numbers(samples(blocks.size()))});
  if (!sampled) return refused(sampled.error());
  const auto costs = costs_of(*sampled, blocks.size());
  if (!costs) return refuse(costs.error());
  const Bytes base = sampled->front().peak;
  const std::vector<Plan> plans = ask.together ? all_or_none(*costs) : shown(best_plans(*costs), ask.budget);
  if (ask.budget && base <= *ask.budget) {
    return refuse(fmt::format("the step's peak, {}, is within {} as it is", format::readable(base), format::readable(*ask.budget)));
  }
  if (plans.size() == 1) return std::unexpected(why_none(item.kind, *costs, base));

  std::vector<Choice> choices;
  for (const Plan& plan : plans) choices.push_back(plan.checkpointed);
  const std::chrono::duration<double, std::milli> step = sampled->front().times.front();
  const int rounds = kCurveRounds.of(1.3 * static_cast<double>(plans.size()) * step);
  ask.say(fmt::format("replaying the {} best choices", plans.size() - 1));
  const auto measured = worker.step({.batches = {batch}, .rounds = rounds, .budget = kLongest, .plans = numbers(choices)});
  if (!measured) return refused(measured.error());

  item.step_was = profile::sample(ask.recorded.steps).median;
  item.peak_was = base;
  item.curve = Curve{.blocks = blocks.size(), .points = {}, .chosen = 0, .budget = ask.budget, .within = true, .note = {}};
  for (std::size_t at = 0; at < plans.size(); ++at) {
    CurvePoint point{.blocks = {}, .peak = measured->at(at).peak, .step = item.step_was, .time = {}};
    for (const std::int64_t block : numbers(choices[at])) point.blocks.push_back(blocks[static_cast<std::size_t>(block)]);
    if (at > 0) point.time = slower_by(measured->at(at), item.step_was, ask.error);
    if (point.time) point.step = Ns{std::llround(static_cast<double>(item.step_was.count()) * point.time->ratio)};
    item.curve->points.push_back(std::move(point));
  }
  choose(item);
  if (ask.together) item.curve->note = "the library checkpoints all of these layers, or none";
  if (peak_is_in_update(*costs, plans.back().checkpointed)) {
    item.curve->note = "at the lowest peak the step holds most in its optimizer: more checkpoints do not lower it further";
  }
  return item;
}

}  // namespace hotlens::lab
