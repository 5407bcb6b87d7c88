#include <algorithm>
#include <map>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

constexpr std::int64_t kManySteps = 16;  // fewer are as quick either way

}  // namespace

// Certain: many backward passes of `x[t]`, each of which fills a tensor as large as the whole sequence: equal shapes, another index.
std::optional<Found> unbind_time(const Recording& recording) {
  const trace::Inputs& inputs = recording.trace.inputs;
  std::map<std::uint32_t, std::int64_t> times;  // in the step, by shapes
  const auto shapes_of = [&](std::uint32_t node) -> std::optional<std::uint32_t> {
    if (recording.name(node) != "aten::select_backward") return std::nullopt;
    const auto row = trace::row_of(inputs.event, recording.forest.event[node]);
    return row && inputs.shapes[*row].valid() ? std::optional(inputs.shapes[*row].index) : std::nullopt;
  };
  for (std::uint32_t node = 0; node < recording.forest.size(); ++node) {
    if (const auto shapes = shapes_of(node); shapes && recording.in_step(node)) ++times[*shapes];
  }
  std::int64_t most = 0;
  for (const auto& [shapes, count] : times) most = std::max(most, count);
  if (most <= kManySteps) return std::nullopt;
  const Marks filling = marked(recording, [&](std::uint32_t node) {
    const auto shapes = shapes_of(node);
    return shapes && times.contains(*shapes) && times.at(*shapes) > kManySteps;
  });
  const std::uint32_t one = first(recording, filling);
  const std::uint32_t creator = one == attribution::kNoNode ? one : recording.forest.creator[one];
  return Found{.evidence = {{"x[t] is differentiated " + std::to_string(most) + " times, each time into the whole sequence",
                             shown(recording, sum(recording, filling)), ""}},
               .assumes = {"the loop takes its steps from x.unbind(dim), whose backward writes the sequence once"},
               .node = creator == attribution::kNoNode ? one : creator,
               .change = without(filling)};
}

}  // namespace hotlens::rules
