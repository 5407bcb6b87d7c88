// A profile for other tools. Each writer streams: what it holds beside the profile is one row, or the bytes of the trace that it copies.
//
// Text from a trace is hostile: JSON escapes it, CSV quotes it and keeps a spreadsheet from running it as a formula.
#pragma once

#include <iosfwd>

#include "annotator/profile/annotated.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {

// Chrome's JSON, for ui.perfetto.dev, chrome://tracing and this program: the events of the trace byte for byte, and a process "Hotlens"
// with tracks of steps, stages and buckets, and of module calls forward and backward for every thread and stream. A trace that is broken
// JSON is written anew from the events that could be read. Blocks on I/O.
Result<void> export_perfetto(const Annotated& annotated, std::ostream& out);

// Schema hotlens.export/1: what `hotlens report` says, with the numbers of every step, lines and call sites (FORMATS.md).
// `plain_steps`: those timed without a profiler.
void export_json(const Profile& profile, const std::vector<Ns>& plain_steps, std::ostream& out);

// RFC 4180, UTF-8, one row per module, medians over the measured steps; FORMATS.md names the columns.
void export_csv(const Profile& profile, std::ostream& out);

// speedscope's evented format, nanoseconds from the first step: one profile per host thread (step, stage, modules) and per device stream
// (stage, modules, kernel).
void export_speedscope(const Annotated& annotated, std::ostream& out);

}  // namespace hotlens::profile
