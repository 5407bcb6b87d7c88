// A profile as scripts read it: `hotlens report --format json` (schema hotlens.report/1, FORMATS.md).
#pragma once

#include <string>

#include "annotator/profile/profile.h"
#include "annotator/ranks/together.h"
#include "annotator/report/cost_card.h"

namespace hotlens::report {

// One JSON object, two spaces of indentation. Text from a trace is hostile: it is escaped. `ranks`: those that the profile is one of.
// `beside`: what is known of its launches and its device.
std::string report_json(const profile::Profile& profile, const ranks::RankSet* ranks = nullptr, const Beside& beside = {});

}  // namespace hotlens::report
