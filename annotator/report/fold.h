// The module tree as a person wants to read it: equal blocks once, small neighbours together, wrappers that add nothing left out.
//
// Three foldings, each of which can be switched off; with all of them off the result is the tree itself. Nothing is lost: a row names every
// module that it stands for, so that a reader can unfold it.
// - Neighbouring siblings of equal build (class, or the name of a person's range but for its numbers, and build of their children) become
//   one row ("×6"), and so do their children.
// - Neighbouring siblings below a share of the step become one row.
// - A module whose only child holds nearly all of its time is shown in one row with that child.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::report {

struct FoldOptions {
  bool equal = true;
  bool lift = true;
  double min_share = 0.005;  // of profile::headline_whole(); 0: no merging
  double dominant = 0.9;     // of its parent's time: what an only child must hold to be lifted
};
constexpr FoldOptions kUnfolded{.equal = false, .lift = false, .min_share = 0};

struct Fold {
  enum class Kind : std::uint8_t { modules, small };

  Kind kind = Kind::modules;
  std::vector<profile::ModuleId> modules;   // one, equal ones, or small neighbours
  std::vector<profile::ModuleId> wrappers;  // lifted over, outermost first (of equal ones the first instance's)
  std::int64_t calls = 0;                   // of all of them in one step
  Ns forward{}, backward{};                 // sums over the modules: device time where there is a device, else host time
  Ns least{}, middle{}, most{};             // over the modules, both directions
  std::vector<Fold> children;
};

// Roots first to last, with the times of the representative step. Cost: O(modules · depth).
std::vector<Fold> fold(const profile::Profile& profile, const FoldOptions& options);

}  // namespace hotlens::report
