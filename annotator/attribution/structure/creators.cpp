#include "annotator/attribution/structure/creators.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace hotlens::attribution {
namespace {

// More threads than this with one and the same number are not told apart; it bounds the work on a hostile file.
constexpr int kMostForwardThreads = 64;

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

// Writing into a view makes nodes besides the operator's own: one that writes into what was viewed, and one for the view as it is from then
// on. No operator has their numbers, which follow that of the one that made them.
std::uint32_t writer_of_view(const std::vector<Numbered>& forward, const Numbered& op, std::string_view name, std::uint32_t thread) {
  constexpr std::int64_t kMostBeside = 8;  // further away is an operator that was not recorded
  if (!name.ends_with("::CopySlices") && !name.contains("AsStridedBackward")) return kNoNode;
  for (std::int64_t before = 1; before <= std::min(kMostBeside, op.sequence); ++before) {
    const std::uint32_t node = latest(forward, op.sequence - before, thread, op.start);
    if (node != kNoNode) return node;
  }
  return kNoNode;
}

// "Fwd thread id" is the profiler's own small number within a process. A thread's votes: how many operators with that id it explains.
using ThreadNumber = std::pair<std::uint32_t, std::int32_t>;  // process, id
using Votes = std::map<ThreadNumber, std::map<std::uint32_t, std::size_t>>;

Votes count_votes(const trace::Events& events, const Forest& forest, const std::vector<Numbered>& forward,
                  const std::vector<Numbered>& backward) {
  Votes votes;
  for (const Numbered& op : backward) {
    const std::uint32_t process = forest.threads[op.thread].process;
    auto& by_thread = votes[{process, events.forward_thread[forest.event[op.node]]}];
    auto at = std::ranges::lower_bound(forward, Numbered{op.sequence, 0, Ns::min(), 0});
    for (int seen = 0; at != forward.end() && at->sequence == op.sequence && seen < kMostForwardThreads; ++seen) {
      const std::uint32_t thread = at->thread;
      if (forest.threads[thread].process == process && latest(forward, op.sequence, thread, op.start) != kNoNode) ++by_thread[thread];
      at = std::ranges::upper_bound(at, forward.end(), Numbered{op.sequence, thread, Ns::max(), std::numeric_limits<std::uint32_t>::max()});
    }
  }
  return votes;
}

// An id and a thread that explains some of its operators.
struct Candidate {
  double share = 0;  // of the id's operators explained
  ThreadNumber id;
  Ns begin{};  // of the thread's first operator
  std::uint32_t thread = 0;
};

// One thread to an id, the pair that explains the largest share first: a thread that was not recorded has an id of its own, of which others
// explain a little by chance. Threads that ran the same program tie; ids are given out in the order in which threads first run an operator.
std::map<ThreadNumber, std::uint32_t> thread_numbers(const Forest& forest, const Votes& votes,
                                                     const std::map<ThreadNumber, std::size_t>& operators) {
  std::vector<Candidate> candidates;
  for (const auto& [id, by_thread] : votes) {
    for (const auto& [thread, explained] : by_thread) {
      const double share = static_cast<double>(explained) / static_cast<double>(operators.at(id));
      candidates.push_back({share, id, forest.start[forest.threads[thread].begin], thread});
    }
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.share, a.id, a.begin) < std::tuple(-b.share, b.id, b.begin);
  });
  std::map<ThreadNumber, std::uint32_t> numbers;
  std::vector<bool> taken(forest.threads.size());
  for (const Candidate& candidate : candidates) {
    if (taken[candidate.thread] || numbers.contains(candidate.id)) continue;
    numbers[candidate.id] = candidate.thread;
    taken[candidate.thread] = true;
  }
  return numbers;
}

// Operators of a thread that lie between two with known numbers, and so between which numbers lie the nodes that they made: [low, high).
struct Gap {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  std::vector<std::uint32_t> nodes;
};

std::vector<Gap> gaps_around(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread, trace::NameId name) {
  std::vector<Gap> gaps;
  Gap open;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] != Kind::op) continue;
    const std::uint32_t event = forest.event[node];
    if (trace.events.name[event] == name) {
      open.nodes.push_back(node);
    } else if (const std::int64_t number = trace.events.sequence[event];
               number != trace::kNone && trace.events.forward_thread[event] <= 0) {
      if (number > open.low && !open.nodes.empty()) {
        open.high = number;
        gaps.push_back(std::exchange(open, {}));
      }
      open.low = std::max(open.low, number);
    }
  }
  if (!open.nodes.empty()) gaps.push_back(std::move(open));
  return gaps;
}

// TorchScript runs the forward of a differentiable graph without numbers inside a `<forward op>`, and makes one node for it. Where a gap
// has as many nodes as such operators, they follow one another in the same order.
void find_graphs(const trace::Trace& trace, const Forest& forest, const std::vector<Numbered>& backward,
                 const std::map<ThreadNumber, std::uint32_t>& numbers, std::vector<std::uint32_t>& creator) {
  const auto graph = trace.names.find("<forward op>");
  if (!graph) return;
  std::map<std::uint32_t, std::map<std::int64_t, std::vector<std::uint32_t>>> made;  // thread, number: the operators that run the node
  for (const Numbered& op : backward) {
    const auto number = numbers.find({forest.threads[op.thread].process, trace.events.forward_thread[forest.event[op.node]]});
    const bool runs_graph = trace.names[trace.events.name[forest.event[op.node]]].ends_with("::DifferentiableGraphBackward");
    if (runs_graph && number != numbers.end()) made[number->second][op.sequence].push_back(op.node);
  }
  for (const auto& [thread, by_number] : made) {
    for (const Gap& gap : gaps_around(trace, forest, forest.threads[thread], *graph)) {
      auto at = by_number.lower_bound(gap.low);
      if (std::cmp_not_equal(std::distance(at, by_number.lower_bound(gap.high)), gap.nodes.size())) continue;
      for (const std::uint32_t forward : gap.nodes) {
        for (const std::uint32_t node : at->second) creator[node] = forward;
        ++at;
      }
    }
  }
}

// A node with hooks runs inside an `evaluate_function: X` that carries no number; the `X` inside does. Hooks may put ranges between them.
void lend_to_evaluation(const trace::Trace& trace, const Forest& forest, std::uint32_t node, std::vector<std::uint32_t>& creator) {
  std::uint32_t outer = forest.parent[node];
  while (outer != kNoNode && forest.kind[outer] == Kind::range) outer = forest.parent[outer];
  if (creator[node] == kNoNode || outer == kNoNode || forest.kind[outer] != Kind::op || creator[outer] != kNoNode) return;
  const auto name = [&](std::uint32_t at) { return trace.names[trace.events.name[forest.event[at]]]; };
  if (forest.traits_at(trace, outer).backward && name(outer).ends_with(name(node))) creator[outer] = creator[node];
}

// The innermost operators at the ends of the profiler's arrows. True where there is any.
bool follow_arrows(const trace::Trace& trace, const Forest& forest, std::vector<std::uint32_t>& creator) {
  const trace::Flows& flows = trace.flows;
  std::vector<std::size_t> ends;  // by thread, then by time
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    if (flows.kind[flow] == trace::Flows::Kind::backward) ends.push_back(flow);
  }
  std::ranges::sort(ends, {}, [&](std::size_t flow) { return std::tuple(flows.thread[flow].index, flows.time[flow], flow); });
  std::map<std::uint32_t, Innermost> threads;
  for (const Forest::Thread& thread : forest.threads) threads.try_emplace(thread.id.index, forest, thread, true);
  std::map<std::int64_t, std::uint32_t> tail;
  std::vector<std::pair<std::int64_t, std::uint32_t>> heads;
  for (const std::size_t flow : ends) {
    const auto thread = threads.find(flows.thread[flow].index);
    std::uint32_t node = thread == threads.end() ? kNoNode : thread->second.at(flows.time[flow]);
    while (node != kNoNode && forest.kind[node] != Kind::op) node = forest.parent[node];
    if (node == kNoNode) continue;
    if (flows.end[flow] == trace::Flows::End::start) {
      tail[flows.id[flow]] = node;
    } else {
      heads.emplace_back(flows.id[flow], node);
    }
  }
  bool any = false;
  for (const auto& [id, node] : heads) {
    const auto from = tail.find(id);
    if (from == tail.end() || forest.start[from->second] >= forest.start[node] || !runs_backward(trace, forest, node)) continue;
    creator[node] = from->second;
    lend_to_evaluation(trace, forest, node, creator);
    any = true;
  }
  return any;
}

void lend_to_accumulation(const trace::Trace& trace, const Forest& forest, std::vector<std::uint32_t>& creator) {
  for (const Forest::Thread& thread : forest.threads) {
    std::uint32_t last = kNoNode;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      if (forest.kind[node] != Kind::op) continue;
      if (forest.traits_at(trace, node).accumulates) {
        creator[node] = last;
      } else if (creator[node] != kNoNode || trace.events.forward_thread[forest.event[node]] > 0) {
        last = creator[node];  // none where the node's forward was not recorded
      }
    }
  }
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
  std::vector<std::uint32_t> creator(forest.size(), kNoNode);
  if (backward.empty()) {
    if (follow_arrows(trace, forest, creator)) lend_to_accumulation(trace, forest, creator);
    return creator;
  }
  std::ranges::sort(forward);
  std::map<ThreadNumber, std::size_t> operators;
  for (const Numbered& op : backward) ++operators[{forest.threads[op.thread].process, events.forward_thread[forest.event[op.node]]}];
  const auto numbers = thread_numbers(forest, count_votes(events, forest, forward, backward), operators);
  for (const Numbered& op : backward) {
    const auto number = numbers.find({forest.threads[op.thread].process, events.forward_thread[forest.event[op.node]]});
    if (number == numbers.end()) continue;
    creator[op.node] = latest(forward, op.sequence, number->second, op.start);
    if (creator[op.node] == kNoNode)
      creator[op.node] = writer_of_view(forward, op, trace.names[events.name[forest.event[op.node]]], number->second);
  }
  find_graphs(trace, forest, backward, numbers, creator);
  for (const Numbered& op : backward) lend_to_evaluation(trace, forest, op.node, creator);
  lend_to_accumulation(trace, forest, creator);
  return creator;
}

}  // namespace hotlens::attribution
