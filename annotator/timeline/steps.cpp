#include "annotator/timeline/steps.h"

#include <algorithm>

namespace hotlens::timeline {
namespace {

struct Census {
  std::size_t steps = 0, optimizers = 0, forward_ops = 0;
};

Census census(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread) {
  Census counted;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] == Kind::step && forest.end[node] > forest.start[node]) ++counted.steps;
    if (forest.kind[node] == Kind::stage && forest.value[node] == static_cast<std::uint32_t>(Stage::optimizer)) ++counted.optimizers;
    if (forest.kind[node] == Kind::op && !forest.traits_at(trace, node).backward) ++counted.forward_ops;
  }
  return counted;
}

// The thread with most steps, then most optimizer steps, then most operators outside autograd.
std::uint32_t main_thread(const trace::Trace& trace, const Forest& forest) {
  std::uint32_t best = kNoNode;
  Census most;
  for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
    const Census counted = census(trace, forest, forest.threads[thread]);
    const bool better =
        std::tie(counted.steps, counted.optimizers, counted.forward_ops) > std::tie(most.steps, most.optimizers, most.forward_ops);
    if (best == kNoNode || better) {
      best = thread;
      most = counted;
    }
  }
  return best;
}

std::vector<StepSpan> marked_steps(const Forest& forest, const Forest::Thread& thread) {
  std::vector<StepSpan> spans;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] != Kind::step || forest.end[node] <= forest.start[node]) continue;
    const Ns start = spans.empty() ? forest.start[node] : std::max(forest.start[node], spans.back().end);
    if (forest.end[node] > start) spans.push_back({forest.value[node], start, forest.end[node]});
  }
  return spans;
}

std::vector<StepSpan> optimizer_steps(const Forest& forest, const Forest::Thread& thread) {
  std::vector<StepSpan> spans;
  Ns start = thread.begin == thread.end ? Ns{} : forest.start[thread.begin];
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] != Kind::stage || forest.value[node] != static_cast<std::uint32_t>(Stage::optimizer)) continue;
    if (forest.end[node] <= start) continue;
    spans.push_back({static_cast<std::int64_t>(spans.size()), start, forest.end[node]});
    start = forest.end[node];
  }
  return spans;
}

bool is_work(trace::Category category) {
  using trace::Category;
  return category == Category::cpu_op || category == Category::runtime || category == Category::driver || category == Category::python ||
         category == Category::annotation || on_device(category);
}

std::vector<StepSpan> whole_window(const trace::Trace& trace) {
  Ns first = Ns::max();
  Ns last = Ns::min();
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (!is_work(trace.events.category[event])) continue;
    first = std::min(first, trace.events.start[event]);
    last = std::max(last, trace.events.end(event));
  }
  if (first >= last) return {};
  return {{0, first, last}};
}

}  // namespace

Steps find_steps(const trace::Trace& trace, const Forest& forest) {
  Steps steps;
  steps.main = main_thread(trace, forest);
  if (steps.main != kNoNode) {
    const Forest::Thread& thread = forest.threads[steps.main];
    steps.spans = marked_steps(forest, thread);
    steps.by = Steps::By::profiler;
    if (steps.spans.empty()) {
      steps.spans = optimizer_steps(forest, thread);
      steps.by = Steps::By::optimizer;
    }
  }
  if (steps.spans.empty()) {
    steps.spans = whole_window(trace);
    steps.by = Steps::By::window;
  }
  return steps;
}

}  // namespace hotlens::timeline
