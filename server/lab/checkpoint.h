// Which blocks to checkpoint: a few replays tell what every choice of blocks needs, and the best ones are replayed in turn with the
// unchanged step before anything is said of them.
#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "annotator/lab/predict/recorded.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

struct CheckpointAsk {
  const Recorded& recorded;
  std::filesystem::path worker;
  std::size_t memory = 0;       // bytes that the worker may take
  std::optional<Bytes> budget;  // the peak to stay within, at the least time; absent: the lowest peak
  double error = 0;             // see Kind
  bool together = false;        // all blocks or none: a library's switch
  std::function<void(const std::string&)> say;
};

// `item`: of the program, whose blocks are `item.modules` in their order. It gets the curve, and what is said of the chosen blocks.
std::expected<WhatIf, NotThis> plan_checkpoints(const CheckpointAsk& ask, WhatIf item, const Program& program);

}  // namespace hotlens::lab
