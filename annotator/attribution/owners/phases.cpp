#include "annotator/attribution/owners/phases.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "annotator/attribution/steps/loop.h"

namespace hotlens::attribution {
namespace {

struct Interval {
  Ns start{}, end{};
};

// What is known of a step before its gaps are filled; all by start.
struct Known {
  std::span<const Pass> passes;
  std::vector<Interval> models;   // calls of root modules that are forward, on any thread
  std::vector<Interval> updates;  // outermost optimizer stages
  std::vector<Ns> writes;         // starts of operators at the top that write in place, or compute what no pass goes back through
  bool computes = false;          // so did the last operator at the top
  std::vector<Ns> creating;       // starts of operators at the top that backward comes from
  bool modules = false;           // the trace tells modules
  std::optional<Pass> before;     // the pass that the step before it ended with: what follows it runs in this step
};

// Where a step ends with its pass, an update by hand comes at the head of the next one.
bool ends_with_pass(const Known& known) {
  return !known.passes.empty() && known.updates.empty() && (known.writes.empty() || known.writes.back() < known.passes.back().start);
}

bool is_top(const Forest& forest, std::uint32_t node) {
  const std::uint32_t parent = forest.parent[node];
  return parent == kNoNode || (forest.kind[parent] != Kind::op && forest.kind[parent] != Kind::launch);
}

// The pass inside of whose closure (an optimizer's range that encloses a pass) this instant lies.
bool in_closure(const Known& known, Ns when) {
  const auto after = std::ranges::upper_bound(known.updates, when, {}, &Interval::start);
  if (after == known.updates.begin()) return false;
  const Interval& update = *(after - 1);
  const auto pass = std::ranges::lower_bound(known.passes, when, {}, &Pass::start);
  return when < update.end && pass != known.passes.end() && pass->start < update.end && pass->forward <= when;
}

class Filler {
 public:
  Filler(const trace::Trace& trace, const Forest& forest, const Steps& steps, Owners& owners)
      : trace_(trace), forest_(forest), steps_(steps), owners_(owners) {
    creates_.resize(forest.threads.size());
    top_creates_.resize(forest.size());
    for (std::uint32_t node = 0; node < forest.size(); ++node) has_optimizer_ |= forest.is_stage(node, Stage::optimizer);
    std::vector<bool> creates(forest.size());  // it, or what it holds
    for (const std::uint32_t creator : forest.creator) {
      if (creator != kNoNode) creates[creator] = creates_[thread_at(creator)] = true;
    }
    for (auto node = static_cast<std::uint32_t>(forest.size()); node-- > 0;) {
      if (creates[node] && !is_top(forest, node)) creates[forest.parent[node]] = true;
      top_creates_[node] = creates[node] && is_top(forest, node);
    }
  }

  // `threads`: those of the main thread's process that run something in the step. Steps in order.
  void fill(const StepSpan& step, const std::vector<std::uint32_t>& threads) {
    Known known = look_at(step, threads);
    const bool ends = !has_optimizer_ && ends_with_pass(known);
    // The first step's head is taken to be as the others'.
    if (follows_pass_.value_or(ends)) known.before = Pass{.start = step.start, .end = step.start};
    follows_pass_ = ends;
    for (const std::uint32_t thread : threads) {
      if (thread == steps_.main || creates_[thread]) fill_thread(forest_.threads[thread], step, known, thread == steps_.main);
    }
  }

 private:
  std::uint32_t thread_at(std::uint32_t node) const {
    const auto after = std::ranges::upper_bound(forest_.threads, node, {}, &Forest::Thread::begin);
    return static_cast<std::uint32_t>(after - forest_.threads.begin()) - 1;
  }

  Known look_at(const StepSpan& step, const std::vector<std::uint32_t>& threads) const {
    Known known;
    const auto first = std::ranges::lower_bound(steps_.passes, step.start, {}, &Pass::start);
    const auto last = std::ranges::lower_bound(steps_.passes, step.end, {}, &Pass::start);
    known.passes = {first, last};
    known.modules = owners_.source != ModuleSource::none;
    for (const std::uint32_t number : threads) {
      const Forest::Thread& thread = forest_.threads[number];
      for (std::uint32_t node = first_from(forest_, thread, step.start); node < thread.end && forest_.start[node] < step.end; ++node) {
        note(node, number == steps_.main, known);
      }
    }
    std::ranges::sort(known.models, {}, &Interval::start);
    return known;
  }

  void note(std::uint32_t node, bool main, Known& known) const {
    const Owner& owner = owners_.of[node];
    switch (forest_.kind[node]) {
      case Kind::call:
      case Kind::frame:
      case Kind::range:
        if (owner.call != kNothing && owner.stage == Stage::forward && owners_.calls.depth[owner.call] == 1) {
          known.models.push_back({forest_.start[node], forest_.end[node]});
        }
        break;
      case Kind::stage:
        if (main && forest_.is_stage(node, Stage::optimizer) &&
            (known.updates.empty() || forest_.start[node] >= known.updates.back().end)) {
          known.updates.push_back({forest_.start[node], forest_.end[node]});
        }
        break;
      case Kind::op:
        if (main && top_creates_[node]) known.creating.push_back(forest_.start[node]);
        if (main && owner.stage == Stage::other && is_top(forest_, node)) {
          known.computes = updates_with_gradients(node, known.computes);
          if (known.computes || forest_.traits_at(trace_, node).in_place) known.writes.push_back(forest_.start[node]);
        }
        break;
      default:
        break;
    }
  }

  // It computes what no pass goes back through, or takes such a result (`follows`) out of the graph.
  bool updates_with_gradients(std::uint32_t node, bool follows) const {
    const bool steps = steps_.by == Steps::By::backward || steps_.by == Steps::By::profiler;
    if (has_optimizer_ || !steps || top_creates_[node] || owners_.of[node].call != kNothing) return false;
    return (follows && detaches(trace_, forest_, node)) || makes_node(trace_, forest_, forest_.threads[steps_.main], node);
  }

  void fill_thread(const Forest::Thread& thread, const StepSpan& step, const Known& known, bool main) {
    std::uint32_t last = kNoNode;  // the last operator at the top
    for (std::uint32_t node = first_from(forest_, thread, step.start); node < thread.end && forest_.start[node] < step.end; ++node) {
      const Kind kind = forest_.kind[node];
      if (kind != Kind::op && kind != Kind::launch) continue;
      const std::uint32_t after = after_descendants(forest_, node, thread.end);
      Owner& owner = owners_.of[node];
      const Stage was = owner.stage;
      if (was == Stage::other || (was == Stage::optimizer && in_closure(known, forest_.start[node]))) {
        give(node, after, was, main ? stage_at(known, node) : stage_of_helper(known, node));
      } else if (main && was == Stage::backward && owner.direction == Direction::forward && stage_at(known, node) == Stage::loss) {
        give(node, after, was, Stage::loss);  // a person's "backward" range that begins with the criterion
      }
      if (main && last != kNoNode && pass_begins(known, forest_.start[last], forest_.start[node])) begin_pass(last);
      last = node;
      node = after - 1;
    }
    if (main && last != kNoNode && pass_begins(known, forest_.start[last], step.end)) begin_pass(last);
  }

  // After `from`, at `to` at the latest; on any thread.
  static bool pass_begins(const Known& known, Ns from, Ns to) {
    const auto next = std::ranges::upper_bound(known.passes, from, {}, &Pass::start);
    return next != known.passes.end() && next->start <= to;
  }

  // The engine is handed a gradient of ones; nothing else makes one right before a pass.
  void begin_pass(std::uint32_t node) {
    const Stage stage = owners_.of[node].stage;
    if (stage != Stage::loss && stage != Stage::forward && stage != Stage::other) return;
    if (trace_.names[trace_.events.name[forest_.event[node]]] != "aten::ones_like" || owners_.of[node].call != kNothing) return;
    give(node, after_descendants(forest_, node, static_cast<std::uint32_t>(forest_.size())), stage, Stage::backward);
  }

  void give(std::uint32_t node, std::uint32_t after, Stage was, Stage now) {
    for (; node < after; ++node) {
      Owner& owner = owners_.of[node];
      if (owner.stage != was) continue;
      owner.stage = now;
      owner.known |= now != Stage::other;
    }
  }

  // A thread that computes part of the forward for the main one.
  Stage stage_of_helper(const Known& known, std::uint32_t node) const {
    const auto next = std::ranges::lower_bound(known.passes, forest_.start[node], {}, &Pass::start);
    return next != known.passes.end() && forest_.start[node] >= next->forward ? Stage::forward : owners_.of[node].stage;
  }

  Stage stage_at(const Known& known, std::uint32_t node) const {
    const Ns when = forest_.start[node];
    const auto next = std::ranges::lower_bound(known.passes, when, {}, &Pass::start);
    const Pass* previous = next == known.passes.begin() ? nullptr : &*(next - 1);
    if (next == known.passes.end()) {
      if (previous) return after_pass(known, node, *previous, Ns::max()).value_or(Stage::other);
      return known.modules && !forest_.traits_at(trace_, node).replays ? Stage::other : Stage::forward;
    }
    if (when >= next->made) return Stage::other;
    const Ns from = previous ? previous->end : Ns::min();
    if (const auto stage = by_models(known, when, from, *next)) return *stage;
    if (when >= next->forward) return when >= next->loss ? Stage::loss : Stage::forward;
    if (previous == nullptr && known.before) previous = &*known.before;
    if (previous != nullptr) {
      if (const auto stage = after_pass(known, node, *previous, next->forward)) return *stage;
    }
    return known.modules ? Stage::other : Stage::forward;
  }

  // By the model's calls between two passes: with the first operator after the last one that the pass goes back through the loss begins;
  // between two calls it is still forward. What runs before the loss (the next batch's exchange, say) is neither.
  static std::optional<Stage> by_models(const Known& known, Ns when, Ns from, const Pass& next) {
    const auto first = std::ranges::lower_bound(known.models, from, {}, &Interval::start);
    const auto end = std::ranges::lower_bound(known.models, next.start, {}, &Interval::start);
    if (first >= end || when < first->start) return std::nullopt;
    const Interval& last = *(end - 1);
    if (when < last.start) return Stage::forward;
    const auto loss = std::ranges::lower_bound(known.creating, last.end);
    const bool told = next.forward < next.start;  // the pass tells what it goes back through
    return !told || (loss != known.creating.end() && *loss <= when) ? Stage::loss : Stage::other;
  }

  // Between a pass and `until`: what prepares an update, or is one by hand. Nothing where neither is so.
  std::optional<Stage> after_pass(const Known& known, std::uint32_t node, const Pass& pass, Ns until) const {
    const Ns when = forest_.start[node];
    const Traits& traits = forest_.traits_at(trace_, node);
    const bool reads = (traits.reads_back || traits.waits) && !std::ranges::binary_search(known.writes, when);
    const bool zeroes = traits.zeroes;
    const auto first = std::ranges::lower_bound(known.updates, pass.start, {}, &Interval::start);
    if (first != known.updates.end() && first->start < until) {
      const auto next = std::ranges::lower_bound(known.updates, when, {}, &Interval::start);
      if (zeroes) return Stage::zero_grad;
      if (next != first) return std::nullopt;
      return reads ? Stage::other : Stage::optimizer;
    }
    const auto after_last = std::ranges::lower_bound(known.writes, until);
    const bool by_hand = after_last != known.writes.begin() && *(after_last - 1) >= when;
    if (!by_hand) return std::nullopt;
    return zeroes ? Stage::zero_grad : reads ? Stage::other : Stage::optimizer;
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  const Steps& steps_;
  Owners& owners_;
  std::vector<bool> creates_;      // by thread: backward comes from its operators
  std::vector<bool> top_creates_;  // by node: an operator at the top that backward comes from
  bool has_optimizer_ = false;
  std::optional<bool> follows_pass_;  // the step that was filled last ended with its pass
};

}  // namespace

void fill_phases(const trace::Trace& trace, const Forest& forest, const Steps& steps, Owners& owners) {
  if (steps.main == kNoNode) return;
  Filler filler(trace, forest, steps, owners);
  const std::vector<std::vector<std::uint32_t>> threads = threads_by_step(forest, steps);
  for (std::size_t step = 0; step < steps.spans.size(); ++step) filler.fill(steps.spans[step], threads[step]);
}

}  // namespace hotlens::attribution
