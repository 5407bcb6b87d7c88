// A profile's modules as a table: RFC 4180, UTF-8 (FORMATS.md names the columns).
//
// Text from a trace is hostile: it is quoted, and a spreadsheet does not run it as a formula.
#pragma once

#include <iosfwd>

#include "annotator/profile/profile.h"

namespace hotlens::report {

// One row per module, medians over the measured steps.
void export_csv(const profile::Profile& profile, std::ostream& out);

}  // namespace hotlens::report
