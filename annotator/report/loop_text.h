// The whole loop as people read it: what each of its lines costs an update, what comes only now and then, and what came before the first.
#pragma once

#include <string>

#include "annotator/common/format.h"
#include "annotator/profile/profile.h"

namespace hotlens::report {

// Two sections, each line ended; empty where the loop was not watched without a profiler. Reads the copies of source files that the bundle
// keeps, to quote the lines. Blocks on I/O.
std::string loop_text(const profile::Profile& profile, const format::Style& style);

// The costliest lines of an update, a row each. Of a loop that is a package's, what that calls of the script. Empty where the loop was not
// watched.
std::string costliest_lines(const profile::Profile& profile);

}  // namespace hotlens::report
