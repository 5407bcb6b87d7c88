// Modules of which a map step ran some and left out others: layers that are dropped at random, experts that got no token.
#pragma once

#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// A module is replaceable when the map step called it, but not all modules of its class beside it: operators alone do not tell it from
// those. An unused layer beside used ones looks the same, so nothing follows from that until a step is seen that runs other ones of them.
class Replaceable {
 public:
  Replaceable(const Chains& map_calls, const ModuleMap& modules);

  // What runs inside this call changes from step to step.
  void see(const Chains& calls, std::uint32_t call);

  // The call, or what surely runs around it where it lies in modules that replace one another.
  std::uint32_t around(const Chains& calls, std::uint32_t call) const;

 private:
  std::vector<std::uint32_t> group_;  // by module; kNothing where it is not replaceable
  std::vector<bool> changes_;         // by group
};

}  // namespace hotlens::attribution
