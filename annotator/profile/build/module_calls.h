// Which module called which, through which Python functions: what a trace with stacks tells about the source.
//
// Only frames that lead to a module are kept, of the first step that runs any. A Python frame names the line where its function is defined
// (or first decorated), not the line it stands on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/attribution/steps/steps.h"
#include "annotator/trace/trace.h"

namespace hotlens::profile {

struct PythonFrame {
  std::string path;        // as the trace names it, usually below a folder of sys.path
  std::uint32_t line = 0;  // 0-based
  std::string function;
};

// Of the event "pkg/file.py(41): forward"; nothing for modules and built-in functions.
std::optional<PythonFrame> frame_named(std::string_view name);

struct CallNode {
  std::uint32_t parent = attribution::kNoNode;  // into ModuleCalls::nodes
  std::uint32_t module = attribution::kNoNode;  // into ModuleCalls::modules, or
  std::uint32_t frame = attribution::kNoNode;   // into ModuleCalls::frames
};

struct ModuleCalls {
  std::vector<std::string> modules;  // "Linear_3"
  std::vector<char> namesakes;       // by module: the trace numbers each class by itself, so that modules of two may have one name
  std::vector<PythonFrame> frames;
  std::vector<CallNode> nodes;  // in order of entry, parents first
};

// Empty for a trace without module frames. Cost: one pass over the Python events.
ModuleCalls module_calls(const trace::Trace& trace, const attribution::Steps& steps);

}  // namespace hotlens::profile
