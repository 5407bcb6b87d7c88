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
  // The same, with those left aside that the same lines make: whichever it was, it was made there.
  std::uint32_t around_others(const Chains& calls, std::uint32_t call) const;

 private:
  template <class Counts>
  std::uint32_t around_where(const Chains& calls, std::uint32_t call, Counts counts) const;

  std::vector<std::uint32_t> group_;  // by module; kNothing where it is not replaceable
  std::vector<bool> changes_;         // by group
  std::vector<bool> made_alike_;      // by group: all its modules, those that were not called too, by the same lines
};

}  // namespace hotlens::attribution
