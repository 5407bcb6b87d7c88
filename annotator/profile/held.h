// What memory is held for: by every module, and at the moment when the step held most.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "annotator/attribution/structure/stage.h"
#include "annotator/common/units.h"

namespace hotlens::profile {

struct ModuleTag;
using ModuleId = Id<ModuleTag>;  // into Profile::modules

// What memory is held for. Workspace: what an operator needs while it runs, and the gradients of activations; data: batches.
enum class Holding : std::uint8_t { weights, gradients, optimizer, activations, workspace, data };
constexpr std::size_t kHoldings = 6;
std::string_view name(Holding holding);
using Holdings = std::array<Bytes, kHoldings>;
Holdings operator+(const Holdings& a, const Holdings& b);
Bytes sum(const Holdings& holdings);

struct Memory {  // absent = not known
  std::optional<Bytes> parameters, gradients, optimizer;
  std::optional<Bytes> activations;  // allocated in its forward and still held when its forward ends
  std::optional<Bytes> temporary;    // most held at once during its forward, above what was held when that began
  Holdings at_peak{};                // held for it, not for its children, when the step held most (MemoryAtPeak)
};

// What the step held at the moment when it held most, each byte once: `stages`, `before` and the modules' Memory::at_peak add up to
// `total`. Without memory events there is no moment, and all that is known is what modules hold between two steps.
struct MemoryAtPeak {
  struct Moment {
    Ns time{};            // from the step's start
    bool of_map = false;  // of the map step of a bundle, which runs slower than the measured ones
    attribution::Stage stage = attribution::Stage::other;
    ModuleId module;  // the innermost that allocated then; invalid: none
  };
  std::optional<Moment> moment;
  std::array<Holdings, attribution::kStages> stages{};  // of no module, by the stage that allocated it
  Bytes before{};                                       // held since before the step, for what nobody says
  Bytes outside{};  // of total: held since before the allocator began to count. A device's counts from the process's start, the host's from
                    // the profiler's, so that weights are missing in its peak
  Bytes total{};
};

}  // namespace hotlens::profile
