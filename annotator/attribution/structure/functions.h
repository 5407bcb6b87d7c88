// Which Python function a thread was in at each instant, of a trace with stacks. Only functions that people wrote count (python_frame.h):
// what torch or Python itself runs below one is time in that one.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/structure/forest.h"
#include "annotator/trace/trace.h"

namespace hotlens::attribution {

struct Functions {
  struct Call {
    std::uint32_t caller = kNoNode;  // into `calls`
    trace::NameId function;
  };
  struct Run {
    Ns start{}, end{};
    std::uint32_t call = kNoNode;  // the innermost; kNoNode in none
  };

  std::vector<Call> calls;  // callers before what they call
  std::vector<Run> runs;    // of the window, by start, without a gap
};

// Cost: one pass over the events, and a sort of the thread's frames in the window.
Functions functions_of(const trace::Trace& trace, trace::ThreadId thread, Ns from, Ns to);

}  // namespace hotlens::attribution
