#include "annotator/timeline/passes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hotlens::timeline {
namespace {

// An operator with no operator around it, or a stage of the loop; ranges and frames around them do not count.
struct Top {
  Ns start{}, end{};
  std::uint32_t node = 0, thread = 0;
  bool backward = false;
};

std::vector<Top> tops(const trace::Trace& trace, const Forest& forest, std::uint32_t process) {
  std::vector<Top> result;
  for (std::uint32_t number = 0; number < forest.threads.size(); ++number) {
    const Forest::Thread& thread = forest.threads[number];
    if (thread.process != process) continue;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      const bool op = forest.kind[node] == Kind::op;
      if (!op && forest.kind[node] != Kind::stage) continue;
      result.push_back({forest.start[node], forest.end[node], node, number, runs_backward(trace, forest, node)});
      if (op) node = after_descendants(forest, node, thread.end) - 1;
    }
  }
  std::ranges::stable_sort(result, {}, &Top::start);
  return result;
}

std::uint32_t top_operator(const Forest& forest, std::uint32_t node) {
  std::uint32_t top = node;
  for (std::uint32_t up = forest.parent[node]; up != kNoNode; up = forest.parent[up]) {
    if (forest.kind[up] == Kind::op) top = up;
  }
  return top;
}

// The forward operator that a backward operator comes from in the end: what a backward pass creates (for a second derivative) comes from
// the operator that its own node came from.
std::uint32_t origin(const Forest& forest, std::uint32_t node) {
  std::uint32_t creator = forest.creator[node];
  while (creator != kNoNode) {
    std::uint32_t around = creator;
    while (around != kNoNode && forest.creator[around] == kNoNode) around = forest.parent[around];
    if (around == kNoNode) return creator;
    creator = forest.creator[around];
  }
  return kNoNode;
}

// Threads of the program itself, by what is known: those whose operators backward comes from; without sequence numbers the one that runs
// most operators outside backward. What a data loader's thread runs says nothing about passes.
std::vector<bool> program_threads(const Forest& forest, const std::vector<Top>& all) {
  std::vector<bool> program(forest.threads.size());
  std::vector<bool> creates(forest.size());
  for (const std::uint32_t creator : forest.creator) {
    if (creator != kNoNode) creates[top_operator(forest, creator)] = true;
  }
  std::vector<std::size_t> forward(forest.threads.size());
  bool any = false;
  for (const Top& top : all) {
    if (top.backward) continue;
    ++forward[top.thread];
    if (!creates[top.node]) continue;
    program[top.thread] = true;
    any = true;
  }
  if (!any && !forward.empty()) program[static_cast<std::size_t>(std::ranges::max_element(forward) - forward.begin())] = true;
  return program;
}

// A pass with what is needed to settle its loss.
struct Draft {
  Pass pass;
  bool reaches_parameters = false;  // some through an earlier pass, so that its own forward uses none
  std::optional<Ns> last_made;      // end of the last operator that created a node
  std::vector<Ns> losses;           // starts of loss operators since the pass before
};

// `used`: collects when operators ended that used a parameter.
void add(const trace::Trace& trace, const Forest& forest, const Top& top, Draft& draft, std::vector<Ns>& used) {
  Pass& pass = draft.pass;
  pass.end = std::max(pass.end, top.end);
  constexpr std::uint64_t kFnvPrime = 1099511628211ULL;
  pass.shape = (pass.shape ^ trace.events.name[forest.event[top.node]].index) * kFnvPrime;
  const std::uint32_t last = after_descendants(forest, top.node, forest.threads[top.thread].end);
  for (std::uint32_t node = top.node; node < last; ++node) {
    if (forest.creator[node] == kNoNode) continue;
    if (forest.traits_at(trace, node).accumulates) {
      if (const std::uint32_t user = origin(forest, node); user != kNoNode) {
        used.push_back(forest.end[top_operator(forest, user)]);
        draft.reaches_parameters = true;
      }
    }
    const std::uint32_t made_by = top_operator(forest, forest.creator[node]);
    if (forest.start[made_by] >= pass.start || runs_backward(trace, forest, made_by)) continue;
    pass.forward = std::min(pass.forward, forest.start[made_by]);
    const Ns end = std::min(forest.end[made_by], pass.start);
    draft.last_made = std::max(draft.last_made.value_or(end), end);
  }
}

// `used`: in order. A pass for the gradient of an input accumulates into no parameter; other passes tell where its forward used them.
Pass settled(const Draft& draft, const std::vector<Ns>& used) {
  Pass pass = draft.pass;
  pass.made = draft.last_made.value_or(pass.start);
  const auto after = std::ranges::upper_bound(used, pass.start);
  const bool used_within = after != used.begin() && *(after - 1) >= pass.forward;
  const Ns from = used_within ? *(after - 1) : pass.forward;
  const auto op = std::ranges::lower_bound(draft.losses, from);
  if (op != draft.losses.end()) {
    pass.loss = *op;
  } else if (used_within || draft.reaches_parameters) {
    pass.loss = from;
  }
  return pass;
}

}  // namespace

bool runs_backward(const trace::Trace& trace, const Forest& forest, std::uint32_t node) {
  return forest.kind[node] == Kind::op && (forest.traits_at(trace, node).backward || trace.events.forward_thread[forest.event[node]] > 0);
}

std::vector<Pass> backward_passes(const trace::Trace& trace, const Forest& forest, std::uint32_t process) {
  const std::vector<Top> all = tops(trace, forest, process);
  const std::vector<bool> program = program_threads(forest, all);
  std::vector<Draft> drafts;
  std::vector<Ns> losses, used;
  bool open = false;  // the last pass goes on
  for (const Top& top : all) {
    if (top.backward) {
      if (!open) drafts.push_back({.pass = {top.start, top.end, top.start, top.start, top.start, 0}, .losses = std::exchange(losses, {})});
      open = true;
      add(trace, forest, top, drafts.back(), used);
    } else if (program[top.thread]) {
      open = false;
      if (forest.kind[top.node] == Kind::op && forest.traits_at(trace, top.node).loss) losses.push_back(top.start);
    }
  }
  std::vector<Pass> passes;
  std::ranges::sort(used);
  for (const Draft& draft : drafts) passes.push_back(settled(draft, used));
  return passes;
}

}  // namespace hotlens::timeline
