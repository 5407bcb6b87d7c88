// Backward operator to forward operator, by sequence number.
#include <algorithm>
#include <map>
#include <tuple>

#include "annotator/timeline/owners.h"

namespace hotlens::timeline {
namespace {

struct Numbered {
  std::int64_t sequence = 0;
  std::uint32_t thread = 0;  // into Forest::threads
  Ns start{};
  std::uint32_t node = 0;

  friend auto operator<=>(const Numbered&, const Numbered&) = default;
};

// The latest start before `when` among `forward`'s operators with this number on this thread.
std::uint32_t latest(const std::vector<Numbered>& forward, std::int64_t sequence, std::uint32_t thread, Ns when) {
  const Numbered bound{sequence, thread, when, 0};
  auto next = std::ranges::lower_bound(forward, bound);
  if (next == forward.begin()) return kNoNode;
  --next;
  return next->sequence == sequence && next->thread == thread ? next->node : kNoNode;
}

// "Fwd thread id" is the profiler's own small number. The thread it stands for is the one that explains most of its backward operators.
using Votes = std::map<std::int32_t, std::vector<std::size_t>>;

std::map<std::int32_t, std::uint32_t> thread_numbers(const Votes& votes) {
  std::map<std::int32_t, std::uint32_t> numbers;
  for (const auto& [id, by_thread] : votes) {
    numbers[id] = static_cast<std::uint32_t>(std::ranges::max_element(by_thread) - by_thread.begin());
  }
  return numbers;
}

// A node with hooks runs inside an `evaluate_function: X` that carries no number; the `X` inside does.
void lend_to_evaluation(const trace::Trace& trace, const Forest& forest, std::uint32_t node, std::vector<std::uint32_t>& creator) {
  const std::uint32_t outer = forest.parent[node];
  if (creator[node] == kNoNode || outer == kNoNode || forest.kind[outer] != Kind::op || creator[outer] != kNoNode) return;
  const auto name = [&](std::uint32_t at) { return trace.names[trace.events.name[forest.event[at]]]; };
  if (forest.traits_at(trace, outer).backward && name(outer).ends_with(name(node))) creator[outer] = creator[node];
}

}  // namespace

std::vector<std::uint32_t> creators(const trace::Trace& trace, const Forest& forest) {
  const trace::Events& events = trace.events;
  std::vector<Numbered> forward, backward;
  for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
    for (std::uint32_t node = forest.threads[thread].begin; node < forest.threads[thread].end; ++node) {
      const std::uint32_t event = forest.event[node];
      if (forest.kind[node] != Kind::op || events.sequence[event] == trace::kNone) continue;
      auto& list = events.forward_thread[event] > 0 ? backward : forward;
      list.push_back({events.sequence[event], thread, forest.start[node], node});
    }
  }
  std::ranges::sort(forward);
  Votes votes;
  for (const Numbered& op : backward) {
    auto& by_thread = votes[events.forward_thread[forest.event[op.node]]];
    by_thread.resize(forest.threads.size());
    for (std::uint32_t thread = 0; thread < by_thread.size(); ++thread) {
      if (latest(forward, op.sequence, thread, op.start) != kNoNode) ++by_thread[thread];
    }
  }
  const auto numbers = thread_numbers(votes);
  std::vector<std::uint32_t> creator(forest.size(), kNoNode);
  for (const Numbered& op : backward) {
    creator[op.node] = latest(forward, op.sequence, numbers.at(events.forward_thread[forest.event[op.node]]), op.start);
    lend_to_evaluation(trace, forest, op.node, creator);
  }
  return creator;
}

}  // namespace hotlens::timeline
