// Memory by module, from the allocator's events of one recorded step.
//
// An allocation belongs to the modules of the innermost operator around it, like time does. Only one kind of memory is counted: the
// device's where the recording has events of a device, else the host's. What the events cannot tell stays absent: addresses are missing up
// to torch 1.9 (then no activations), and a gradient that is reused from step to step is allocated in none of them.
#pragma once

#include <optional>
#include <vector>

#include "annotator/profile/profile.h"
#include "annotator/timeline/owners.h"

namespace hotlens::profile {

struct MemoryUse {
  std::optional<Bytes> peak, start;  // of the step, as the allocator counts it
  std::vector<Memory> modules;       // gradients, activations and temporary; parameters and optimizer are not looked at
};

struct MemoryInput {
  const trace::Trace& trace;
  const timeline::Forest& forest;
  const timeline::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  timeline::StepSpan step;
};

// Cost: O(events log events).
MemoryUse memory_use(const MemoryInput& input);

}  // namespace hotlens::profile
