// Sums over the account: what each module and each source line cost, per step, and where it lies on the representative step's axis.
//
// Inclusive: a piece counts once for every module (and line) on its stack, and for the modules that hold them in the tree; recursion counts
// once. Backward work counts for the lines that ran and for the lines whose forward created it, each line once.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {

struct Tally {
  PerStep forward, backward;
  std::vector<Slice> slices;
  std::int64_t calls = 0;  // executions in one step, recomputations not counted
};

struct Tallies {
  std::vector<Tally> modules, lines, sites;
  std::vector<Tally> one_of;  // by definition: what ran in one of the modules that it makes, not known in which
  std::vector<Ns> cpu, cpu_attributed, device_attributed;  // per step
};

struct TallyInput {
  const attribution::Account& account;
  const attribution::Owners& owners;
  const std::vector<std::uint32_t>& module_parent;
  const std::vector<std::uint32_t>& definition;  // by module: one number for those that the same lines make, less than their count
  std::size_t lines = 0;
  std::size_t sites = 0;  // expressions that call modules
  std::size_t representative = 0;
  bool calls_of_one_step = false;  // the chains hold exactly one step's calls (the map step's)
};

Tallies tally(const TallyInput& input);

}  // namespace hotlens::profile
