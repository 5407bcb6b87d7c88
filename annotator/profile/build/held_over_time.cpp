#include "annotator/profile/build/held_over_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "annotator/profile/build/annotated.h"

namespace hotlens::profile {
namespace {

using attribution::kNoNode;
using attribution::StepSpan;

// The same moment in the map step and in a measured step.
struct Anchor {
  Ns map{}, clean{};
};

// Most anchors that are in order of time in both steps: the longest ascending sequence. Threads and other orders of operators put some in
// another order.
std::vector<Anchor> in_order(std::vector<Anchor> anchors) {
  std::ranges::sort(anchors, {}, [](const Anchor& each) { return std::pair(each.map, each.clean); });
  std::vector<std::size_t> last, before(anchors.size());  // last: of a sequence of each length, the one that ends first
  for (std::size_t at = 0; at < anchors.size(); ++at) {
    const auto longer = std::ranges::upper_bound(last, anchors[at].clean, {}, [&](std::size_t each) { return anchors[each].clean; });
    before[at] = longer == last.begin() ? at : *std::prev(longer);
    if (longer == last.end()) {
      last.push_back(at);
    } else {
      *longer = at;
    }
  }
  std::vector<Anchor> kept;
  if (last.empty()) return kept;
  for (std::size_t at = last.back();; at = before[at]) {
    kept.push_back(anchors[at]);
    if (before[at] == at) break;
  }
  std::ranges::reverse(kept);
  return kept;
}

// Where operators and their twins begin and end, after the starts of their steps.
std::vector<Anchor> anchors_of(const Annotated& annotated, const StepSpan& clean) {
  const MapHeld& map = *annotated.map_held;
  std::vector<Anchor> anchors{{Ns{}, Ns{}}, {map.step.end - map.step.start, clean.end - clean.start}};
  const std::vector<std::uint32_t>& twins = annotated.map_inputs->twin;
  const attribution::Forest& forest = annotated.forest;
  for (std::uint32_t node = 0; node < std::min(forest.size(), twins.size()); ++node) {
    const std::uint32_t twin = twins[node];
    if (twin == kNoNode || twin >= map.start.size() || forest.start[node] < clean.start || forest.end[node] > clean.end) continue;
    const Ns start = map.start[twin] - map.step.start, end = start + map.duration[twin];
    if (start < Ns{} || end > anchors[1].map) continue;
    anchors.push_back({start, forest.start[node] - clean.start});
    anchors.push_back({end, forest.end[node] - clean.start});
  }
  return in_order(std::move(anchors));
}

Ns laid(const std::vector<Anchor>& anchors, Ns map) {
  const auto after = std::ranges::upper_bound(anchors, map, {}, &Anchor::map);
  if (after == anchors.begin()) return anchors.front().clean;
  const Anchor& before = *std::prev(after);
  if (after == anchors.end()) return before.clean;
  const double share = static_cast<double>((map - before.map).count()) / static_cast<double>((after->map - before.map).count());
  return before.clean + Ns(std::llround(share * static_cast<double>((after->clean - before.clean).count())));
}

}  // namespace

HeldOverTime held_in(const trace::MemoryEvents& events, const StepSpan& step) {
  const auto [order, peak] = counted_events(events, step);
  HeldOverTime held;
  if (!peak) return held;
  held.device = events.device_type[*peak] > 0 ? events.device[*peak] : -1;
  for (const std::uint32_t event : order) {
    const std::int64_t total = total_at(events, event);
    if (events.device[event] != events.device[*peak] || total < 0) continue;
    if (held.empty()) held.before = std::max<std::int64_t>(0, total - events.bytes[event]);
    held.time.push_back(events.time[event] - step.start);
    held.bytes.push_back(total);
  }
  return held;
}

HeldOverTime held_over_time(const Annotated& annotated, std::size_t step, Bytes outside) {
  const StepSpan& span = annotated.account.steps[step].span;
  const bool of_map = annotated.map_held && annotated.map_inputs;
  HeldOverTime held = of_map ? annotated.map_held->held : held_in(annotated.trace.memory, span);
  held.of_map = of_map;
  if (of_map && !held.empty()) {
    const std::vector<Anchor> anchors = anchors_of(annotated, span);
    for (Ns& time : held.time) time = laid(anchors, time);
  }
  held.before += count(outside);
  for (std::int64_t& bytes : held.bytes) bytes += count(outside);
  return held;
}

}  // namespace hotlens::profile
