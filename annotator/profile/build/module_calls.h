// Which module called which, through which Python functions: what a trace with stacks tells about the source.
//
// Only frames that lead to a module are kept, of the first step that runs any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/attribution/steps/steps.h"
#include "annotator/trace/python_frame.h"
#include "annotator/trace/trace.h"

namespace hotlens::profile {

struct CallNode {
  std::uint32_t parent = attribution::kNoNode;  // into ModuleCalls::nodes
  std::uint32_t module = attribution::kNoNode;  // into ModuleCalls::modules, or
  std::uint32_t frame = attribution::kNoNode;   // into ModuleCalls::frames
};

struct ModuleCalls {
  std::vector<std::string> modules;  // "Linear_3"
  std::vector<char> namesakes;       // by module: the trace numbers each class by itself, so that modules of two may have one name
  std::vector<trace::PythonFrame> frames;
  std::vector<CallNode> nodes;  // in order of entry, parents first
};

// Empty for a trace without module frames. Cost: one pass over the Python events.
ModuleCalls module_calls(const trace::Trace& trace, const attribution::Steps& steps);

}  // namespace hotlens::profile
