#include "annotator/advice/rules/dense_scan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "annotator/common/amount.h"
#include "annotator/costs/finder.h"
#include "annotator/profile/statistics.h"

namespace hotlens::rules {
namespace {

using attribution::kNoNode;
using Sizes = std::pair<std::int64_t, std::int64_t>;  // samples, and numbers of a state

// [samples, H] times [H, H], by which a step's state goes on to the next.
std::optional<Sizes> recurrent(std::string_view shapes) {
  const kernels::Arguments given(shapes, {}, {});
  const auto* left = given.tensor(0);
  const auto* right = given.tensor(1);
  const bool matrices = left != nullptr && right != nullptr && left->size() == 2 && right->size() == 2;
  if (!matrices || (*right)[0] != (*right)[1] || (*left)[1] != (*right)[0] || (*left)[0] <= 0 || (*right)[0] <= 1) return std::nullopt;
  return Sizes{(*left)[0], (*left)[1]};
}

// The sizes that most of the loop's steps have a product of.
std::optional<Sizes> sizes_of(const Recording& recording, const costs::Finder& finder, std::span<const std::uint32_t> steps) {
  const attribution::Forest& forest = recording.forest;
  const Ns from = forest.start[steps.front()], to = forest.start[steps.back()];
  std::map<Sizes, std::size_t> counts;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.start[node] < from || forest.start[node] > to || recording.name(node) != "aten::mm") continue;
    if (const auto sizes = recurrent(finder.shapes(node))) ++counts[*sizes];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most != counts.end() && 2 * most->second >= steps.size() ? std::optional(most->first) : std::nullopt;
}

Ns usual_step(const Recording& recording, std::span<const std::uint32_t> steps) {
  std::vector<Ns> times;
  for (std::size_t at = 1; at < steps.size(); ++at)
    times.push_back(recording.forest.start[steps[at]] - recording.forest.start[steps[at - 1]]);
  const Ns usual = profile::median(times);
  const std::optional<Ns> plain = recording.profile.plain_step;
  const Ns profiled = recording.profile.step_wall();
  if (!plain || profiled <= *plain || profiled <= Ns{}) return usual;
  return Ns{static_cast<std::int64_t>(static_cast<double>(usual.count()) * static_cast<double>(plain->count()) /
                                      static_cast<double>(profiled.count()))};
}

// The most operations a second that operators of one kind reach in the step.
double best_rate(const Recording& recording, costs::Finder& finder) {
  struct Done {
    double flops = 0;
    Ns time{};
  };
  std::map<std::uint32_t, Done> by_kind;
  const bool on_device = !recording.account.work.empty();
  for (std::uint32_t node = 0; node < recording.forest.size(); ++node) {
    if (!recording.in_step(node) || finder.operator_of(node) != node || finder.cost(node).flops <= 0) continue;
    Done& done = by_kind[finder.kind_of(node)];
    done.flops += finder.cost(node).flops;
    if (!on_device) done.time += recording.forest.end[node] - recording.forest.start[node];
  }
  for (const std::uint32_t at : on_device ? recording.step().launched : std::vector<std::uint32_t>{}) {
    const attribution::Work& work = recording.account.work[at];
    const std::uint32_t of = work.launch == kNoNode ? kNoNode : finder.operator_of(work.launch);
    if (of != kNoNode && finder.cost(of).flops > 0) by_kind[finder.kind_of(of)].time += work.end - work.start;
  }
  double best = 0;
  for (const auto& [kind, done] : by_kind) {
    if (done.time > Ns{}) best = std::max(best, done.flops * 1e9 / static_cast<double>(done.time.count()));
  }
  return best;
}

}  // namespace

std::string dense_scan_note(const Recording& recording, std::span<const std::uint32_t> steps) {
  if (recording.given == nullptr || steps.size() < 2) return {};
  costs::Finder finder(recording.trace, recording.forest, *recording.given);
  const auto sizes = sizes_of(recording, finder, steps);
  if (!sizes) return {};
  const auto [samples, numbers] = *sizes;
  const auto state = static_cast<double>(numbers);
  const double product = 2 * static_cast<double>(samples) * state * state * state;  // of two Jacobians, for each sample
  const double step = static_cast<double>(usual_step(recording, steps).count()) / 1e9 * best_rate(recording, finder);
  if (product >= step) return {};
  return "its state is small (" + std::to_string(samples) + " × " + std::to_string(numbers) +
         "): a parallel scan over its steps' Jacobians (BPPSA) may pay too, as two multiply in " + format::amount(product, "FLOP") +
         " and a step has time for " + format::amount(step, "FLOP");
}

}  // namespace hotlens::rules
