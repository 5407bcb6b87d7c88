// The lines that enter a stage, and the part of the stage's time that is of each.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/profile/bundle/bundle.h"

namespace hotlens::profile {

struct LineOfLoss {
  std::uint32_t row = 0;    // of Model::lines
  std::uint32_t place = 0;  // of StageLines::places
};

struct StageLines {
  attribution::Places places;          // to count by
  std::vector<std::uint32_t> of_site;  // by Model::stages: into places; kNothing where the site's line was not recorded
  std::vector<LineOfLoss> of_loss;     // lines of the loop that may compute it, where no criterion was called
};

// Sites on one line are one place.
StageLines stage_lines(const Model& model);

// Model::stages with their times. Where more than a twentieth of a stage's time would be a guess, or a site of it has no line, the first
// site has the stage's time and the others say so. A loss without a criterion has the lines of the loop that compute a telling part of it.
std::vector<StageSite> stage_sites(const Model& model, const StageLines& lines, const std::vector<attribution::StepAccount>& steps);

}  // namespace hotlens::profile
