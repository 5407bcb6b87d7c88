#include "annotator/attribution/steps/passes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hotlens::attribution {
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

// By node: the outermost operator around it, or the node itself.
std::vector<std::uint32_t> top_operators(const Forest& forest) {
  std::vector<std::uint32_t> top(forest.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    const bool inside = parent != kNoNode && (forest.kind[parent] == Kind::op || top[parent] != parent);
    top[node] = inside ? top[parent] : node;
  }
  return top;
}

// The forward operator that a backward operator comes from in the end: what a backward pass creates (for a second derivative) comes from
// the operator that its own node came from. Each step of such a chain is taken once, whoever asks.
class Origins {
 public:
  explicit Origins(const Forest& forest) : forest_(forest), made_around_(forest.size(), kNoNode), known_(forest.size(), kUnknown) {
    for (std::uint32_t node = 0; node < forest.size(); ++node) {
      const std::uint32_t parent = forest.parent[node];
      if (parent != kNoNode) made_around_[node] = made_around_[parent];
      if (forest.creator[node] != kNoNode) made_around_[node] = node;
    }
  }

  std::uint32_t of(std::uint32_t node) {
    std::vector<std::uint32_t> asked;
    while (known_[node] == kUnknown) {
      asked.push_back(node);
      const std::uint32_t creator = forest_.creator[node];
      const std::uint32_t around = creator == kNoNode ? kNoNode : made_around_[creator];
      // In a damaged trace an operator may come from what runs inside it; a chain that does not go back in time ends there.
      if (around == kNoNode || forest_.start[around] >= forest_.start[node]) {
        known_[node] = creator;
      } else {
        node = around;
      }
    }
    for (const std::uint32_t each : asked) known_[each] = known_[node];
    return known_[node];
  }

 private:
  static constexpr std::uint32_t kUnknown = kNoNode - 1;

  const Forest& forest_;
  std::vector<std::uint32_t> made_around_;  // by node: the innermost one around it, or itself, that has a creator
  std::vector<std::uint32_t> known_;
};

// Threads of the program itself, by what is known: those whose operators backward comes from; without sequence numbers the one that runs
// most operators outside backward. What a data loader's thread runs says nothing about passes.
std::vector<bool> program_threads(const Forest& forest, const std::vector<Top>& all, const std::vector<std::uint32_t>& top_operator) {
  std::vector<bool> program(forest.threads.size());
  std::vector<bool> creates(forest.size());
  for (const std::uint32_t creator : forest.creator) {
    if (creator != kNoNode) creates[top_operator[creator]] = true;
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
void add(const trace::Trace& trace, const Forest& forest, const Top& top, const std::vector<std::uint32_t>& top_operator, Origins& origins,
         Draft& draft, std::vector<Ns>& used) {
  Pass& pass = draft.pass;
  pass.end = std::max(pass.end, top.end);
  constexpr std::uint64_t kFnvPrime = 1099511628211ULL;
  pass.shape = (pass.shape ^ trace.events.name[forest.event[top.node]].index) * kFnvPrime;
  const std::uint32_t last = after_descendants(forest, top.node, forest.threads[top.thread].end);
  for (std::uint32_t node = top.node; node < last; ++node) {
    if (forest.creator[node] == kNoNode) continue;
    if (forest.traits_at(trace, node).accumulates) {
      if (const std::uint32_t user = origins.of(node); user != kNoNode) {
        used.push_back(forest.end[top_operator[user]]);
        draft.reaches_parameters = true;
      }
    }
    const std::uint32_t made_by = top_operator[forest.creator[node]];
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

std::vector<Pass> backward_passes(const trace::Trace& trace, const Forest& forest, std::uint32_t process) {
  const std::vector<Top> all = tops(trace, forest, process);
  const std::vector<std::uint32_t> top_operator = top_operators(forest);
  const std::vector<bool> program = program_threads(forest, all, top_operator);
  Origins origins(forest);
  std::vector<Draft> drafts;
  std::vector<Ns> losses, used;
  bool open = false;  // the last pass goes on
  for (const Top& top : all) {
    if (top.backward) {
      if (!open) drafts.push_back({.pass = {top.start, top.end, top.start, top.start, top.start, 0}, .losses = std::exchange(losses, {})});
      open = true;
      add(trace, forest, top, top_operator, origins, drafts.back(), used);
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

}  // namespace hotlens::attribution
