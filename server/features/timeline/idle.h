// Why nothing runs at a moment: what the main thread did meanwhile, what came next, and how long launching that took.
//
// The causes are those of the verdict (annotator/causes/gap.h). Of the main thread's own track it is what it did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/blocks/blocks.h"

namespace hotlens::features {

struct Idle {
  struct Part {
    profile::Cause cause = profile::Cause::launch;
    Ns time{};
  };
  // What the main thread ran meanwhile: the outermost operator, else a Python function or the line.
  struct Doing {
    std::string what;  // "aten::item", "train.py(41): rollout", "Python or other code outside operators"
    bool waits = false;
    std::optional<std::uint32_t> line;  // into Model::lines
    Ns time{};
  };
  struct Next {
    std::uint32_t block = blocks::kNoBlock;  // the device work that ends the gap
    std::string launch, caller;              // "cudaLaunchKernel"; the operator that called it, empty where there is none
    Ns launched{};                           // start of the launch, after the start of the step
    Ns launching{};                          // how long the call took
    Ns delay{};                              // from the end of the call to the start of the work; 0 where it began before
  };

  Ns start{}, end{};         // after the start of the step
  std::vector<Part> parts;   // longest first; of a device
  std::vector<Doing> doing;  // longest first
  std::optional<Next> next;  // of a device; absent where nothing of this trace ends the gap
};

// Of the gap around `at`, on a track of the step; nothing where something runs there. `track`: into Blocks::tracks.
std::optional<Idle> idle_at(const blocks::Blocks& blocks, std::uint32_t track, Ns at);

}  // namespace hotlens::features
