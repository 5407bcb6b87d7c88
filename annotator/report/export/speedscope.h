// A trace with its annotation in speedscope's evented format.
#pragma once

#include <iosfwd>

#include "annotator/profile/build/annotated.h"

namespace hotlens::report {

// Nanoseconds from the first step: one profile per host thread (step, stage, modules) and per device stream (stage, modules, kernel).
void export_speedscope(const profile::Annotated& annotated, std::ostream& out);

}  // namespace hotlens::report
