// Reading a trace from any source; trace.h has what other rooms call.
#pragma once

#include <string_view>

#include "annotator/trace/source.h"
#include "annotator/trace/trace.h"
#include "annotator/trace/windows.h"

namespace hotlens::trace {

// `window`: bytes of text in memory at a time, `budget`: what the trace may take; tests choose them small.
Result<Trace> read_source(Source source, std::string_view where, Issues& issues, std::size_t window = Windows::kUsual,
                          MemoryBudget budget = {});

}  // namespace hotlens::trace
