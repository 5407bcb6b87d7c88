// What stands beside traceEvents: devices, the time base, how the trace was recorded.
#pragma once

#include <string_view>

#include "annotator/trace/trace.h"

namespace hotlens::trace {

// Whether keep_fact() makes anything of the value of this top-level key (as written, without quotes).
bool is_fact(std::string_view key);

// Puts the value of a top-level key, JSON as written, where the Trace holds it. A value of another form than torch writes says nothing:
// metadata is free for users to fill, so it is no fault. Objects may also come as JSON inside a string.
void keep_fact(std::string_view key, std::string_view value, Trace& trace);

}  // namespace hotlens::trace
