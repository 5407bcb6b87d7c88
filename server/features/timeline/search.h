// Search over the whole tree of a step: stages, modules, operators, kernels, and the files of the profile; and what of them only other
// steps have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/blocks/blocks.h"
#include "server/features/timeline/names.h"

namespace hotlens::features {

struct Match {
  enum class Kind : std::uint8_t { stage, module, op, kernel, file };
  Kind kind = Kind::stage;
  std::string label, detail;
  std::uint32_t block = blocks::kNoBlock;  // the first of them; kNoBlock for a file
  profile::FileId file;
  Ns time{};  // sum over all blocks of the name: device time of device work, else host time
  std::int64_t count = 0;
  std::uint32_t steps = 0;            // that have it; 0 where that is not counted
  std::optional<std::uint32_t> step;  // of what this step lacks: the nearest one that has it; `block` is kNoBlock, sums are of all steps
};

struct Matches {
  std::vector<Match> matches;  // stages and modules first, then longest first, other steps' last; one for equal names
  std::size_t total = 0;
};

// Names that hold `query`, ASCII letters compared without case; none for an empty query. `names` of the same trace. Cost: one look at each
// different name, and at each step that has it.
Matches search(const blocks::Blocks& blocks, const profile::Profile& profile, const StepNames& names, std::string_view query,
               std::size_t limit);

}  // namespace hotlens::features
