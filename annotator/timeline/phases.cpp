#include "annotator/timeline/phases.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace hotlens::timeline {
namespace {

// What one step runs on the main thread, and where other threads run backward meanwhile; in time order.
std::vector<std::uint32_t> nodes_of(const Forest& forest, const Steps& steps, const Owners& owners, const StepSpan& step) {
  std::vector<std::uint32_t> nodes;
  const auto first = forest.start.begin();
  for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
    const auto [id, begin, end] = forest.threads[thread];
    auto node = static_cast<std::uint32_t>(std::lower_bound(first + begin, first + end, step.start) - first);
    for (; node < end && forest.start[node] < step.end; ++node) {
      const bool wanted = thread == steps.main
                              ? forest.kind[node] == Kind::op || forest.kind[node] == Kind::stage || forest.kind[node] == Kind::launch
                              : forest.parent[node] == kNoNode && owners.of[node].stage == Stage::backward;
      if (wanted) nodes.push_back(node);
    }
  }
  std::ranges::stable_sort(nodes, {}, [&](std::uint32_t node) { return forest.start[node]; });
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

std::vector<Ns> backward_starts(const Forest& forest, const Owners& owners) {
  std::vector<Ns> starts;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (owners.of[node].stage == Stage::backward) starts.push_back(forest.start[node]);
  }
  std::ranges::sort(starts);
  return starts;
}

// Module frames of a thread that no other module's frame is around.
std::vector<std::uint32_t> root_frames(const Forest& forest, const Forest::Thread& thread, const Owners& owners) {
  std::vector<std::uint32_t> roots;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] == Kind::frame && owners.calls.depth[owners.of[node].call] == 1) roots.push_back(node);
  }
  return roots;
}

// Stages that tell what is around them. Gradients are zeroed before the forward, or between the loss and backward, so that tells nothing.
bool tells_phase(Stage stage) {
  return stage != Stage::other && stage != Stage::copy && stage != Stage::zero_grad;
}

void fill_step(const Forest& forest, const std::vector<std::uint32_t>& nodes, bool has_modules, Owners& owners) {
  std::vector<std::optional<Stage>> after(nodes.size());
  std::optional<Stage> next;
  bool has_backward = false;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    after[i] = next;
    const Stage stage = owners.of[nodes[i]].stage;
    if (tells_phase(stage)) next = stage;
    has_backward |= stage == Stage::backward;
  }
  std::optional<Stage> before;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Owner& owner = owners.of[nodes[i]];
    if (owner.stage == Stage::other && forest.kind[nodes[i]] != Kind::stage) {
      owner.stage = phase_between(before, after[i], has_modules, has_backward);
      owner.known |= owner.stage != Stage::other;
    }
    if (tells_phase(owner.stage)) before = owner.stage;
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
    fill_step(forest, nodes_of(forest, steps, owners, step), has_modules, owners);
  }
}

void mark_criteria(const Forest& forest, const Steps& steps, Owners& owners) {
  if (owners.frames.empty() || steps.main == kNoNode) return;
  std::vector<bool> has_children(owners.frames.size());
  for (const FrameModule& module : owners.frames) {
    if (module.parent != kNothing) has_children[module.parent] = true;
  }
  const Forest::Thread& main = forest.threads[steps.main];
  const std::vector<Ns> backward = backward_starts(forest, owners);
  const std::vector<std::uint32_t> roots = root_frames(forest, main, owners);
  bool after_model = false;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::uint32_t root = roots[i];
    const bool model = has_children[owners.calls.value[owners.of[root].call]];
    after_model |= model;
    const Ns next_root = i + 1 < roots.size() ? forest.start[roots[i + 1]] : Ns::max();
    const auto next_backward = std::ranges::lower_bound(backward, forest.end[root]);
    if (model || !after_model || next_backward == backward.end() || *next_backward >= next_root) continue;
    for (std::uint32_t node = root; node < main.end && forest.start[node] < forest.end[root]; ++node) {
      if (owners.of[node].stage == Stage::forward) owners.of[node].stage = Stage::loss;
    }
  }
}

}  // namespace hotlens::timeline
