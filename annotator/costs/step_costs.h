// Arithmetic and bytes of a step and of its modules (profile/costs.h), from the account and from what operators were given.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/costs/finder.h"
#include "annotator/profile/costs.h"

namespace hotlens::costs {

struct CostInput {
  const trace::Trace& trace;
  const attribution::Forest& forest;
  const attribution::Account& account;
  const attribution::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  std::size_t step = 0;  // of the account
  Given given;
};

struct Costs {
  profile::StepCosts step;
  std::vector<profile::ModuleCosts> forward, backward;  // by module
};

// Communication is on neither side of the coverage. Copies between host and device, and fills, tell their bytes themselves: they are known,
// but no operator's. Without device work what prepares or hands on (views, composites around a known operator) is known to be neither
// arithmetic nor a move. Cost: O(work and pieces of the step) and once the nodes around them.
Costs step_costs(const CostInput& input);

}  // namespace hotlens::costs
