// From the map step to the clean steps: sequences per thread role, twins, and owners for what has none.
#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "annotator/timeline/align.h"
#include "annotator/timeline/copies.h"

namespace hotlens::timeline {
namespace {

// Operators and torch's own stage ranges are in both traces; launches and markers are not compared.
bool is_aligned(const Recorded& recorded, std::uint32_t node) {
  if (recorded.forest.kind[node] == Kind::op) return true;
  if (recorded.forest.kind[node] != Kind::stage) return false;
  const std::string_view name = recorded.trace.names[recorded.trace.events.name[recorded.forest.event[node]]];
  return !name.starts_with("hotlens.");
}

std::vector<std::uint32_t> sequence(const Recorded& recorded, const Forest::Thread& thread, const StepSpan& step) {
  std::vector<std::uint32_t> nodes;
  const auto first = recorded.forest.start.begin();
  const auto from = std::lower_bound(first + thread.begin, first + thread.end, step.start);
  for (auto node = static_cast<std::uint32_t>(from - first); node < thread.end && recorded.forest.start[node] < step.end; ++node) {
    if (is_aligned(recorded, node)) nodes.push_back(node);
  }
  return nodes;
}

// The threads that play a part in the steps: the main one, then those that run autograd, then others, each in order of first work.
std::vector<std::uint32_t> roles(const Recorded& recorded) {
  std::vector<std::uint32_t> backward, others;
  for (std::uint32_t thread = 0; thread < recorded.forest.threads.size(); ++thread) {
    if (thread == recorded.steps.main) continue;
    const Forest::Thread& nodes = recorded.forest.threads[thread];
    bool autograd = false;
    for (std::uint32_t node = nodes.begin; node < nodes.end && !autograd; ++node) {
      autograd = recorded.forest.kind[node] == Kind::op && recorded.forest.traits_at(recorded.trace, node).backward;
    }
    (autograd ? backward : others).push_back(thread);
  }
  const auto by_start = [&](std::uint32_t thread) { return recorded.forest.start[recorded.forest.threads[thread].begin]; };
  std::ranges::sort(backward, {}, by_start);
  std::ranges::sort(others, {}, by_start);
  std::vector<std::uint32_t> order;
  if (recorded.steps.main != kNoNode) order.push_back(recorded.steps.main);
  std::ranges::copy(backward, std::back_inserter(order));
  std::ranges::copy(others, std::back_inserter(order));
  return order;
}

class Transferrer {
 public:
  Transferrer(const Recorded& clean, const Recorded& map, Owners map_owners) : clean_(clean), map_(map), from_(std::move(map_owners)) {
    result_.owners.of.resize(clean.forest.size());
    has_twin_.assign(clean.forest.size(), false);
  }

  Transfer run() && {
    const std::vector<std::uint32_t> clean_roles = roles(clean_);
    const std::vector<std::uint32_t> map_roles = roles(map_);
    std::size_t matched = 0;
    std::size_t total = 0;
    for (std::size_t role = 0; role < clean_roles.size(); ++role) {
      for (const StepSpan& step : clean_.steps.spans) {
        const std::vector<std::uint32_t> nodes = sequence(clean_, clean_.forest.threads[clean_roles[role]], step);
        total += nodes.size();
        if (role >= map_roles.size() || map_.steps.spans.empty()) continue;
        matched += pair_up(nodes, map_sequence(map_roles[role]));
      }
    }
    for (const std::uint32_t role : clean_roles) inherit(clean_.forest.threads[role]);
    result_.owners.calls = std::move(from_.calls);
    result_.owners.lines = std::move(from_.lines);
    mark_copies(clean_.trace, clean_.forest, result_.owners);
    result_.confidence = total == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(total);
    return std::move(result_);
  }

 private:
  const std::vector<std::uint32_t>& map_sequence(std::uint32_t thread) {
    const auto [known, fresh] = map_sequences_.try_emplace(thread);
    if (fresh) known->second = sequence(map_, map_.forest.threads[thread], map_.steps.spans.front());
    return known->second;
  }

  // Names of both traces under common numbers.
  std::vector<std::uint32_t> words(const Recorded& recorded, const std::vector<std::uint32_t>& nodes) {
    std::vector<std::uint32_t> ids;
    ids.reserve(nodes.size());
    for (const std::uint32_t node : nodes) {
      ids.push_back(vocabulary_.intern(recorded.trace.names[recorded.trace.events.name[recorded.forest.event[node]]]).index);
    }
    return ids;
  }

  std::size_t pair_up(const std::vector<std::uint32_t>& nodes, const std::vector<std::uint32_t>& map_nodes) {
    const std::vector<std::uint32_t> twins = align(words(clean_, nodes), words(map_, map_nodes));
    std::size_t matched = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (twins[i] == kNoTwin) continue;
      result_.owners.of[nodes[i]] = from_.of[map_nodes[twins[i]]];
      has_twin_[nodes[i]] = true;
      ++matched;
    }
    return matched;
  }

  // Nodes without a twin: launches and inner operators belong where their parent does, others between their neighbours.
  void inherit(const Forest::Thread& thread) {
    std::uint32_t last = kNoNode;  // the last operator with a twin at the top
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      const std::uint32_t parent = clean_.forest.parent[node];
      const bool top = parent == kNoNode || clean_.forest.kind[parent] == Kind::step || clean_.forest.kind[parent] == Kind::range;
      Owner& owner = result_.owners.of[node];
      if (has_twin_[node]) {
        if (!top) continue;
        for (const std::uint32_t between_two : waiting) settle(between_two, last, node);
        waiting.clear();
        last = node;
      } else if (!top) {
        owner = result_.owners.of[parent];
        own_traits(node, owner);
      } else if (clean_.forest.kind[node] != Kind::step) {
        own_traits(node, owner);
        waiting.push_back(node);
      }
    }
  }

  void own_traits(std::uint32_t node, Owner& owner) const {
    if (clean_.forest.kind[node] == Kind::stage) {
      owner.stage = static_cast<Stage>(clean_.forest.value[node]);
      owner.known = true;
    }
    if (clean_.forest.kind[node] == Kind::step) return;
    const Traits& traits = clean_.forest.traits_at(clean_.trace, node);
    owner.communicates |= traits.communicates;
    if (clean_.forest.kind[node] != Kind::op || !traits.backward) return;
    owner.stage = Stage::backward;
    owner.direction = Direction::backward;
    owner.accumulates |= traits.accumulates;
    owner.known = true;
  }

  void settle(std::uint32_t node, std::uint32_t before, std::uint32_t after) {
    if (before == kNoNode) return;
    Owner& owner = result_.owners.of[node];
    if (owner.known) return;
    const Owner& a = result_.owners.of[before];
    const Owner& b = result_.owners.of[after];
    if (a.stage != b.stage) return;
    owner = a;
    owner.call = from_.calls.common(a.call, b.call);
    owner.line = from_.lines.common(a.line, b.line);
    owner.made_line = from_.lines.common(a.made_line, b.made_line);
    descend(node);
  }

  void descend(std::uint32_t top) {
    for (std::uint32_t node = top + 1; node < clean_.forest.size() && clean_.forest.parent[node] != kNoNode; ++node) {
      if (clean_.forest.parent[node] < top) return;
      if (!has_twin_[node]) result_.owners.of[node] = result_.owners.of[clean_.forest.parent[node]];
    }
  }

  const Recorded& clean_;
  const Recorded& map_;
  Owners from_;
  Transfer result_;
  std::vector<bool> has_twin_;
  trace::Names vocabulary_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> map_sequences_;
};

}  // namespace

Transfer transfer(const Recorded& clean, const Recorded& map, Owners map_owners) {
  return Transferrer(clean, map, std::move(map_owners)).run();
}

}  // namespace hotlens::timeline
