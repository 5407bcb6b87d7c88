// Which step ran what, by name: operators, launches and device work of every step, so that a search finds what the step in view lacks.
//
// Made once for a trace: one pass over its host events and device work. Immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/build/annotated.h"

namespace hotlens::features {

struct StepName {
  std::uint32_t name = 0;  // NameId of the trace
  bool device = false;
  std::uint32_t step = 0;  // position in Account::steps
  std::int64_t count = 0;
  Ns time{};  // sum of durations
};

using StepNames = std::vector<StepName>;  // by name, host before device, step; each once

StepNames names_by_step(const profile::Annotated& annotated);

}  // namespace hotlens::features
