// Memory by module, from the allocator's events of one recorded step.
//
// An allocation belongs to the modules of the innermost operator around it, like time does. Only one kind of memory is counted: the
// device's where the recording has events of a device, else the host's; of several devices the peak is that of the one that held most.
// What the events cannot tell stays absent: addresses are missing up to torch 1.9 (then no activations), and a gradient that is reused
// from step to step is allocated in none of them.
#pragma once

#include <optional>
#include <vector>

#include "annotator/attribution/owners/owners.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The moment at which one device (the host, where no device is recorded) held most, and what it held then of what the step allocated.
struct MemoryMoment {
  Ns time{};  // from the step's start
  attribution::Stage stage = attribution::Stage::other;
  std::uint32_t module = attribution::kNothing;
  bool counts_all = false;                              // the allocator counts what was allocated before the recording too
  std::array<Holdings, attribution::kStages> stages{};  // of no module
  std::vector<Holdings> modules;                        // without what their children hold
};

struct MemoryUse {
  std::optional<Bytes> peak, start;  // of the step, as the allocator counts it
  std::vector<Memory> modules;       // gradients, activations and temporary; parameters and optimizer are not looked at
  std::optional<MemoryMoment> moment;
};

struct MemoryInput {
  const trace::Trace& trace;
  const attribution::Forest& forest;
  const attribution::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  attribution::StepSpan step;
};

// The allocator's events of a step that are counted, in order of time, and the one at which one device held most; nothing of that where the
// allocator tells no totals.
struct CountedEvents {
  std::vector<std::uint32_t> order;  // into MemoryEvents
  std::optional<std::uint32_t> peak;
};
CountedEvents counted_events(const trace::MemoryEvents& events, const attribution::StepSpan& step);
// What the allocator counts at an event, this one included; negative where that is not known.
std::int64_t total_at(const trace::MemoryEvents& events, std::uint32_t event);

// Cost: O(events log events).
MemoryUse memory_use(const MemoryInput& input);

// The whole peak: what the step allocated, and before it what modules hold between steps. `modules` have parents before children and what
// was recorded of each (Memory::parameters, gradients, optimizer, each with its children's); they get Memory::at_peak. Where a device held
// less before the step than modules are known to hold, some of that lies elsewhere: then nothing of it is told apart.
MemoryAtPeak settle_peak(const MemoryUse& used, std::optional<Bytes> optimizer_elsewhere, std::vector<Module>& modules);

}  // namespace hotlens::profile
