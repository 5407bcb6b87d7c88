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
  std::optional<Ns> last_parameter;  // end of the last operator that used a parameter
  std::optional<Ns> last_made;       // end of the last operator that created a node
  std::vector<Ns> losses;            // starts of loss operators since the pass before
};

void add(const trace::Trace& trace, const Forest& forest, const Top& top, Draft& draft) {
  Pass& pass = draft.pass;
  pass.end = std::max(pass.end, top.end);
  constexpr std::uint64_t kFnvPrime = 1099511628211ULL;
  pass.shape = (pass.shape ^ trace.events.name[forest.event[top.node]].index) * kFnvPrime;
  const std::uint32_t last = after_descendants(forest, top.node, forest.threads[top.thread].end);
  for (std::uint32_t node = top.node; node < last; ++node) {
    if (forest.creator[node] == kNoNode) continue;
    const std::uint32_t made_by = top_operator(forest, forest.creator[node]);
    if (forest.start[made_by] >= pass.start || runs_backward(trace, forest, made_by)) continue;
    pass.forward = std::min(pass.forward, forest.start[made_by]);
    const Ns used = std::min(forest.end[made_by], pass.start);
    draft.last_made = std::max(draft.last_made.value_or(used), used);
    if (!forest.traits_at(trace, node).accumulates) continue;
    draft.last_parameter = std::max(draft.last_parameter.value_or(used), used);
  }
}

Pass settled(const Draft& draft) {
  Pass pass = draft.pass;
  pass.made = draft.last_made.value_or(pass.start);
  const Ns from = draft.last_parameter.value_or(draft.pass.forward);
  const auto op = std::ranges::lower_bound(draft.losses, from);
  if (op != draft.losses.end()) {
    pass.loss = *op;
  } else if (draft.last_parameter) {
    pass.loss = *draft.last_parameter;
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
  std::vector<Ns> losses;
  bool open = false;  // the last pass goes on
  for (const Top& top : all) {
    if (top.backward) {
      if (!open) drafts.push_back({{top.start, top.end, top.start, top.start, top.start, 0}, {}, {}, std::exchange(losses, {})});
      open = true;
      add(trace, forest, top, drafts.back());
    } else if (program[top.thread]) {
      open = false;
      if (forest.kind[top.node] == Kind::op && forest.traits_at(trace, top.node).loss) losses.push_back(top.start);
    }
  }
  std::vector<Pass> passes;
  for (const Draft& draft : drafts) passes.push_back(settled(draft));
  return passes;
}

}  // namespace hotlens::timeline
