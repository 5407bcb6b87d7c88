// A trace with its annotation as Chrome's JSON, for ui.perfetto.dev, chrome://tracing and this program.
#pragma once

#include <iosfwd>

#include "annotator/profile/build/annotated.h"

namespace hotlens::report {

// The events of the trace byte for byte, and a process "Hotlens" with tracks of steps, stages and buckets, and of module calls forward and
// backward for every thread and stream. A trace that is broken JSON is written anew from the events that could be read. What it holds
// beside the profile is the bytes that it copies. Blocks on I/O.
Result<void> export_perfetto(const profile::Annotated& annotated, std::ostream& out);

}  // namespace hotlens::report
