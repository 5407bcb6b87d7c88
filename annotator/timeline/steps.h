// Where the steps of a run begin and end, and which thread drives them.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/timeline/forest.h"

namespace hotlens::timeline {

struct StepSpan {
  std::int64_t index = 0;  // the script's count where the trace tells it
  Ns start{}, end{};
};

struct Steps {
  enum class By : std::uint8_t { profiler, optimizer, window };

  std::vector<StepSpan> spans;   // in order of time, not overlapping
  std::uint32_t main = kNoNode;  // into Forest::threads; kNoNode for a trace without host events
  By by = By::window;
};

// ProfilerStep#N ranges; else from the end of one Optimizer.step to the end of the next; else the whole window as one step. Empty ranges
// (a last step cut by the end of the recording) are left out.
Steps find_steps(const trace::Trace& trace, const Forest& forest);

}  // namespace hotlens::timeline
