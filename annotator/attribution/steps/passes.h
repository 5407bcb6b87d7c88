// Backward passes of a recording: when each ran, and from when on the main program computed what it goes back through.
#pragma once

#include <vector>

#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

// One backward pass: what backward operators run without forward work of the same process between them.
struct Pass {
  Ns start{}, end{};
  // Start of the first operator outside backward that created one of its nodes; `start` where the trace does not tell.
  Ns forward{};
  // From here on no operator used a parameter, as this pass or another one that goes back further shows (for the gradient of a gradient):
  // the loss. A loss operator of torch's own after that place tells more exactly. `start` where the trace does not tell.
  Ns loss{};
  // End of the last operator outside backward that created one of its nodes; `start` where the trace does not tell. What the program runs
  // from there to the pass is no part of its forward.
  Ns made{};
  std::uint64_t shape = 0;  // hash of the names of its nodes in order: passes through the same graph have the same
};

// Those of one process, by start.
std::vector<Pass> backward_passes(const trace::Trace& trace, const Forest& forest, std::uint32_t process);

}  // namespace hotlens::attribution
