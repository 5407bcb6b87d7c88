// A profile as scripts read it: `hotlens report --format json` (schema hotlens.report/1, FORMATS.md).
#pragma once

#include <string>

#include "annotator/profile/profile.h"
#include "annotator/ranks/together.h"

namespace hotlens::report {

// One JSON object, two spaces of indentation. Text from a trace is hostile: it is escaped. `ranks`: those that the profile is one of.
std::string report_json(const profile::Profile& profile, const ranks::RankSet* ranks = nullptr);

}  // namespace hotlens::report
