// Where the steps of a run begin and end, and which thread drives them. A step is what a person means by one: data, forward, backward and
// update of one batch.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/steps/passes.h"
#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

struct StepSpan {
  std::int64_t index = 0;  // the script's count where the trace tells it
  Ns start{}, end{};
};

struct Steps {
  enum class By : std::uint8_t { profiler, optimizer, backward, loader, forward, window };

  std::vector<StepSpan> spans;   // in order of time, not overlapping; evaluation between two steps is in none
  std::uint32_t main = kNoNode;  // into Forest::threads; kNoNode for a trace without host events
  By by = By::window;
  std::vector<Pass> passes;         // backward passes of the main thread's process
  std::size_t other_processes = 0;  // that ran operators too and are not shown
};

// Best first:
// - ProfilerStep#N ranges. Empty ones (a last step cut by the end of the recording) are left out.
// - Optimizer steps: one ends a step. Several without a backward between them are one update; several in one batch (a GAN) are one step,
//   where a fetch of data, or else the repeating pattern of their backward passes, tells batches apart.
// - Backward passes, where no optimizer of torch's ran or it ran inside backward: told apart in the same way. A recording whose passes do
//   not repeat is no loop.
// - In a recording without backward: fetches of data, or calls of the outermost module (or forward stage) that took most time.
// - The whole recording as one step.
// A step begins with its data where it fetches any, else with its zeroing of gradients, else where the one before ended; in between,
// forward operators that run without gradients are evaluation.
Steps find_steps(const trace::Trace& trace, const Forest& forest);

// By step: the threads of the main thread's process with a node that starts in it, as numbers into Forest::threads, ascending. Most threads
// of a process with very many run in few steps.
std::vector<std::vector<std::uint32_t>> threads_by_step(const Forest& forest, const Steps& steps);

}  // namespace hotlens::attribution
