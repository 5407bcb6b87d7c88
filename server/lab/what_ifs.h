// What-ifs of a profile: which apply, and what the replay of the edited step says of them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

// Kinds that are made together, in this order.
using Together = std::vector<const Kind*>;

struct WhatIfAsk {
  std::filesystem::path bundle;
  std::vector<Together> wanted;
  std::filesystem::path python;                 // whose torch replays; empty: say what applies and replay nothing
  std::function<void(const std::string&)> say;  // what takes long, for people
  std::optional<Bytes> budget = {};             // of the peak, for the choice of blocks to checkpoint
  bool instead = false;                         // what gives the same as a refused kind is an item, too
};

// The error: nothing can be said of this profile, and why. What does not apply, or cannot be replayed, is in `refused`.
Result<WhatIfs> ask_what_ifs(const WhatIfAsk& ask);

}  // namespace hotlens::lab
