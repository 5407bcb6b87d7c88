// Which module of one profile is which of another.
//
// Recorded modules match by path: the same path and class first, then the path without wrappers (`module.`, `_orig_mod.`, …), then a path
// whose class changed. Where one side knows only `nn.Module:` frames, whose counters shift with every inserted layer, the place in the tree
// decides: the chain of classes from the root, each with its number among the siblings of that class; wrappers and containers that are
// never called do not count. Of several equal keys the first belongs to the first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::report {

struct ModulePair {
  profile::ModuleId before, after;  // invalid where the module is not in that profile
};

// Every module of both, each once: those of `after` in its order, then the rest of `before`.
std::vector<ModulePair> match_modules(const profile::Profile& before, const profile::Profile& after);

// "module.layer1._orig_mod.0" is "layer1.0".
std::string without_wrappers(std::string_view path);

}  // namespace hotlens::report
