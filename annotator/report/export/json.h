// A profile as one JSON document for other tools: schema hotlens.export/1 (FORMATS.md).
#pragma once

#include <iosfwd>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::report {

// What `hotlens report` says, with the numbers of every step, lines and call sites. `plain_steps`: those timed without a profiler.
void export_json(const profile::Profile& profile, const std::vector<Ns>& plain_steps, std::ostream& out);

}  // namespace hotlens::report
