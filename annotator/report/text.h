// A profile as people read it in a terminal: aligned text.
//
// Text from a trace is hostile: control characters are shown as `?`.
#pragma once

#include <string>

#include "annotator/profile/profile.h"
#include "annotator/report/cost_card.h"

namespace hotlens::report {

struct TextOptions {
  bool color = false;   // terminal colours
  bool unfold = false;  // every module in a row of its own (fold.h)
};

// Steps, stages, buckets, the module tree, the longest kernels, costs, launches and the verdict.
std::string report_text(const profile::Profile& profile, const TextOptions& options = {}, const Beside& beside = {});

}  // namespace hotlens::report
