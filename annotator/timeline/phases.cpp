#include "annotator/timeline/phases.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace hotlens::timeline {
namespace {

// Only operators, in time order of one step; ranges and launches follow them.
std::vector<std::uint32_t> unclaimed_or_first(const Forest& forest, const Forest::Thread& thread, const StepSpan& step) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.start[node] < step.start || forest.start[node] >= step.end) continue;
    if (forest.kind[node] == Kind::op || forest.kind[node] == Kind::stage || forest.kind[node] == Kind::launch) nodes.push_back(node);
  }
  return nodes;
}

// The stage of an operator between `before` and `after`, the nearest stages that are known around it; other where neither tells.
Stage phase_between(std::optional<Stage> before, std::optional<Stage> after, bool has_modules, bool has_backward) {
  const bool at_forward = before == Stage::forward || before == Stage::loss;
  const bool to_backward = after == Stage::backward || after == Stage::loss;
  if (has_modules) return at_forward && to_backward ? Stage::loss : Stage::other;
  if (after == Stage::backward || !has_backward) return Stage::forward;
  return Stage::other;
}

bool is_stage_of_work(Stage stage) {
  return stage != Stage::other && stage != Stage::copy;
}

void fill_step(const Forest& forest, const std::vector<std::uint32_t>& nodes, bool has_modules, Owners& owners) {
  std::vector<std::optional<Stage>> after(nodes.size());
  std::optional<Stage> next;
  bool has_backward = false;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    after[i] = next;
    const Stage stage = owners.of[nodes[i]].stage;
    if (is_stage_of_work(stage)) next = stage;
    has_backward |= stage == Stage::backward;
  }
  std::optional<Stage> before;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Owner& owner = owners.of[nodes[i]];
    if (owner.stage == Stage::other && forest.kind[nodes[i]] != Kind::stage) {
      owner.stage = phase_between(before, after[i], has_modules, has_backward);
      owner.known |= owner.stage != Stage::other;
    }
    if (is_stage_of_work(owner.stage)) before = owner.stage;
  }
}

}  // namespace

void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners) {
  std::unordered_set<std::int64_t> copies;
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (trace.events.category[event] != trace::Category::copy) continue;
    const std::string_view name = trace.names[trace.events.name[event]];
    if (name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos) {
      copies.insert(trace.events.correlation[event]);
    }
  }
  if (copies.empty()) return;
  std::vector<std::uint32_t> tops;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::launch || !copies.contains(trace.events.correlation[forest.event[node]])) continue;
    std::uint32_t top = node;
    for (std::uint32_t up = forest.parent[node]; up != kNoNode && forest.kind[up] == Kind::op; up = forest.parent[up]) {
      if (!forest.traits_at(trace, up).moves) break;
      top = up;
    }
    tops.push_back(top);
  }
  for (const std::uint32_t top : tops) {
    for (std::uint32_t node = top; node < forest.size(); ++node) {
      std::uint32_t up = node;
      while (up != kNoNode && up > top) up = forest.parent[up];
      if (up != top) break;
      Owner& owner = owners.of[node];
      owner.copies = true;
      owner.known = true;
      if (owner.stage == Stage::other) owner.stage = Stage::copy;
    }
  }
}

void fill_phases(const Forest& forest, const Steps& steps, Owners& owners) {
  const bool has_modules = !owners.calls.value.empty();
  if (steps.main == kNoNode) return;
  for (const StepSpan& step : steps.spans) {
    const std::vector<std::uint32_t> nodes = unclaimed_or_first(forest, forest.threads[steps.main], step);
    fill_step(forest, nodes, has_modules, owners);
  }
}

}  // namespace hotlens::timeline
