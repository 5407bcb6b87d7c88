// Which blocks to checkpoint, as it was replayed last, kept in the bundle that it is of (`checkpoints.json`, annotator/lab/FORMAT.md), so
// that who shows the profile later has the curve too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

std::filesystem::path kept_checkpoints(const std::filesystem::path& bundle);

// What of an answer is to be kept: the curve, or why there is none. Empty where it says neither.
std::string checkpoints_to_keep(const WhatIfs& all);

struct KeptCheckpoints {
  Curve curve;                         // without points: `refused` says why
  std::string refused;                 // a sentence without its stop
  std::optional<WhatIf> instead = {};  // a form of the optimizer that lowers the peak where checkpoints do not; it has no place
  std::optional<SourceLine> where;
};
// Nothing where none are kept, or they are of another profile. A bundle may come from anybody: a point that cannot be is left out, and a
// curve without the unchanged step and another one is none.
std::optional<KeptCheckpoints> read_kept_checkpoints(const std::filesystem::path& bundle, const std::string& profile);

}  // namespace hotlens::lab
