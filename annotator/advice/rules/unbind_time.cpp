#include <algorithm>
#include <array>
#include <map>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

using attribution::kNoNode;
using attribution::kNothing;

constexpr std::int64_t kManySteps = 16;  // fewer are as quick either way

}  // namespace

// Certain: many backward passes of `x[t]`, each of which fills a tensor as large as the whole sequence: of equal shapes, or where those
// were not recorded of one line of one module call.
std::optional<Found> unbind_time(const Recording& recording) {
  if (!knows(recording, "aten::select_backward")) return std::nullopt;
  const trace::Inputs& inputs = recording.trace.inputs;
  using Key = std::array<std::uint32_t, 3>;  // shapes, or line and module call
  const auto key_of = [&](std::uint32_t node) -> std::optional<Key> {
    if (recording.name(node) != "aten::select_backward") return std::nullopt;
    const auto row = trace::row_of(inputs.event, recording.forest.event[node]);
    if (row && inputs.shapes[*row].valid()) return Key{inputs.shapes[*row].index, kNothing, kNothing};
    const attribution::Owner& owner = recording.owners.of[node];
    if (owner.made_line == kNothing) return std::nullopt;
    return Key{kNothing, recording.owners.lines.value[owner.made_line], owner.call};
  };
  std::map<Key, std::int64_t> times;  // in the step
  for (std::uint32_t node = 0; node < recording.forest.size(); ++node) {
    if (const auto key = key_of(node); key && recording.in_step(node)) ++times[*key];
  }
  std::int64_t most = 0;
  for (const auto& [key, count] : times) most = std::max(most, count);
  if (most <= kManySteps) return std::nullopt;
  const Marks filling = marked(recording, [&](std::uint32_t node) {
    const auto key = key_of(node);
    const auto known = key ? times.find(*key) : times.end();
    return known != times.end() && known->second > kManySteps;
  });
  const std::uint32_t one = first(recording, filling);
  const std::uint32_t evaluated = one == kNoNode ? kNoNode : recording.forest.parent[one];
  const std::uint32_t creator = evaluated == kNoNode ? kNoNode : recording.forest.creator[evaluated];
  return Found{.evidence = {{"x[t] is differentiated " + std::to_string(most) + " times, each time into the whole sequence",
                             shown(recording, sum(recording, filling)), ""}},
               .assumes = {"the loop takes its steps from x.unbind(dim), whose backward writes the sequence once"},
               .node = creator == kNoNode ? one : creator,
               .change = without(filling)};
}

}  // namespace hotlens::rules
