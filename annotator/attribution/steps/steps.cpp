#include "annotator/attribution/steps/steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "annotator/attribution/steps/batches.h"
#include "annotator/attribution/steps/loop.h"

namespace hotlens::attribution {
namespace {

struct Census {
  std::size_t steps = 0, optimizers = 0, stages = 0, forward_ops = 0;
};

Census census(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread) {
  Census counted;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] == Kind::step && forest.end[node] > forest.start[node]) ++counted.steps;
    if (forest.is_stage(node, Stage::optimizer)) ++counted.optimizers;
    if (forest.kind[node] == Kind::stage) ++counted.stages;
    if (forest.kind[node] == Kind::op && !forest.traits_at(trace, node).backward) ++counted.forward_ops;
  }
  return counted;
}

// The thread with most steps, then most optimizer steps, then most stages, then most operators outside autograd.
std::uint32_t main_thread(const trace::Trace& trace, const Forest& forest) {
  std::uint32_t best = kNoNode;
  Census most;
  const auto rank = [](const Census& of) { return std::tuple(of.steps, of.optimizers, of.stages, of.forward_ops); };
  for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
    const Census counted = census(trace, forest, forest.threads[thread]);
    if (best != kNoNode && rank(counted) <= rank(most)) continue;
    best = thread;
    most = counted;
  }
  return best;
}

std::size_t processes_with_operators(const Forest& forest) {
  std::set<std::uint32_t> processes;
  for (const Forest::Thread& thread : forest.threads) {
    const auto begin = forest.kind.begin() + thread.begin;
    const auto end = forest.kind.begin() + thread.end;
    if (std::find(begin, end, Kind::op) != end) processes.insert(thread.process);
  }
  return processes.size();
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

// Starts of the calls of the outermost module, or of the forward stage, that took most time.
std::vector<Ns> forward_calls(const Forest& forest, const Forest::Thread& thread) {
  struct Calls {
    Ns time{};
    std::vector<Ns> starts;
  };
  std::map<std::pair<Kind, std::uint32_t>, Calls> by_root;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    const Kind kind = forest.kind[node];
    if (kind != Kind::frame && kind != Kind::range && !forest.is_stage(node, Stage::forward)) continue;
    Calls& calls = by_root[{kind, forest.value[node]}];
    calls.time += forest.end[node] - forest.start[node];
    calls.starts.push_back(forest.start[node]);
    node = after_descendants(forest, node, thread.end) - 1;
  }
  const auto most = std::ranges::max_element(by_root, {}, [](const auto& entry) { return entry.second.time; });
  return most == by_root.end() ? std::vector<Ns>{} : most->second.starts;
}

// From each start to the next; the last to `end`.
std::vector<StepSpan> spans_from(const std::vector<Ns>& starts, Ns end) {
  std::vector<StepSpan> spans;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Ns until = i + 1 < starts.size() ? starts[i + 1] : std::max(end, starts[i]);
    if (until > starts[i]) spans.push_back({static_cast<std::int64_t>(spans.size()), starts[i], until});
  }
  return spans;
}

// Fetches that some operator follows before the next one.
std::vector<Ns> used_fetches(const std::vector<Mark>& marks) {
  std::vector<Ns> starts;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    if (marks[i].what == Mark::What::data && marks[i + 1].what != Mark::What::data) starts.push_back(marks[i].start);
  }
  return starts;
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

void find_by_loop(const trace::Trace& trace, const Forest& forest, Steps& steps) {
  const Forest::Thread& thread = forest.threads[steps.main];
  const std::vector<Mark> marks = loop_marks(trace, forest, thread, steps.passes);
  if (marks.empty()) return;
  const bool updates = std::ranges::find(marks, Mark::What::update, &Mark::what) != marks.end();
  if (updates || !steps.passes.empty()) {
    steps.by = updates ? Steps::By::optimizer : Steps::By::backward;
    steps.spans = batches(marks, steps.passes, forest.start[thread.begin]);
    return;
  }
  Ns end{};
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) end = std::max(end, forest.end[node]);
  // Inference need not wait for its device: the last step ends with the last work.
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (on_device(trace.events.category[event])) end = std::max(end, trace.events.end(event));
  }
  if (const std::vector<Ns> fetches = used_fetches(marks); fetches.size() > 1) {
    steps.by = Steps::By::loader;
    steps.spans = spans_from(fetches, end);
  } else if (const std::vector<Ns> calls = forward_calls(forest, thread); calls.size() > 1) {
    steps.by = Steps::By::forward;
    steps.spans = spans_from(calls, end);
  }
}

}  // namespace

std::vector<std::vector<std::uint32_t>> threads_by_step(const Forest& forest, const Steps& steps) {
  std::vector<std::vector<std::uint32_t>> result(steps.spans.size());
  for (std::uint32_t number = 0; number < forest.threads.size(); ++number) {
    const Forest::Thread& thread = forest.threads[number];
    if (steps.main == kNoNode || thread.process != forest.threads[steps.main].process) continue;
    auto step = steps.spans.begin();
    for (std::uint32_t node = thread.begin; node < thread.end;) {
      step = std::upper_bound(step, steps.spans.end(), forest.start[node], [](Ns when, const StepSpan& span) { return when < span.end; });
      if (step == steps.spans.end()) break;
      node = first_from(forest, thread, step->start);
      if (node == thread.end) break;
      if (forest.start[node] >= step->end) continue;
      result[static_cast<std::size_t>(step - steps.spans.begin())].push_back(number);
      node = first_from(forest, thread, step->end);
    }
  }
  return result;
}

Steps find_steps(const trace::Trace& trace, const Forest& forest) {
  Steps steps;
  steps.main = main_thread(trace, forest);
  if (steps.main != kNoNode) {
    const Forest::Thread& thread = forest.threads[steps.main];
    steps.passes = backward_passes(trace, forest, thread.process);
    steps.other_processes = processes_with_operators(forest) - 1;
    steps.by = Steps::By::profiler;
    steps.spans = marked_steps(forest, thread);
    if (steps.spans.empty()) find_by_loop(trace, forest, steps);
  }
  if (steps.spans.empty()) {
    steps.spans = whole_window(trace);
    steps.by = Steps::By::window;
  }
  return steps;
}

}  // namespace hotlens::attribution
