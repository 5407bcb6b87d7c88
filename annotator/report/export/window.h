// A window of a trace as Chrome's JSON: the events' own text, arguments and arrows with it.
#pragma once

#include <string>

#include "annotator/profile/build/annotated.h"

namespace hotlens::report {

struct TraceWindow {
  Ns from{}, to{};       // after trace.base
  std::size_t most = 0;  // complete events
};

// Complete events that reach into the window, byte for byte; of all others (arrows, counters, memory) those that lie in it; names of
// threads and processes. Of a trace whose text is no valid JSON, or is gone, the events as they were read: names, times, links.
// ErrorCode::usage where the window holds too many. Blocks on I/O: the file is read again.
Result<std::string> export_window(const profile::Annotated& annotated, const TraceWindow& window);

}  // namespace hotlens::report
