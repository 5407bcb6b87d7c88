// Which module each module call of a trace runs, from the best source there is: the markers of a map step, else `nn.Module:` frames, else
// ranges that a person put around modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/attribution/steps/steps.h"
#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

// Module calls inside each other, and levels of the module tree: three times those of the deepest model we know.
constexpr std::uint32_t kDeepest = 64;

enum class RootRole : std::uint8_t { model, loss, other };

// What the recorder knows about the ids in its markers.
struct ModuleMap {
  std::vector<std::uint32_t> module_of_call, module_of_param;
  std::vector<std::uint32_t> module_parent;  // by module; kNothing for a root
  std::vector<std::uint32_t> module_class;   // by module: number of its class; empty where that is not known
  std::vector<std::uint32_t> definition;     // by module: one number for those that the same lines make; empty where that is not known
  std::vector<RootRole> role;                // by module: the role of its root
  std::vector<std::uint32_t> site_of_call;   // the expression that calls; kNothing where that is not known, empty where it never is
  std::size_t lines = 0;
};

// A module found in the trace itself, as one of those that call it does: the instance in its frames ("Linear_3"), or the name of its range.
struct FoundModule {
  std::string name;
  std::uint32_t parent = kNothing;
  std::uint32_t first = kNothing;  // the first of the same module; a range is the same only within the module around it
};

// By module: the chain of names from the root, joined by `/`. What is longer than 1,024 bytes begins with "…/" or is cut: a tree may be as
// deep, and names as long, as somebody wants.
std::vector<std::string> paths_of(const std::vector<FoundModule>& found);

enum class ModuleSource : std::uint8_t { none, markers, frames, ranges };

struct Modules {
  ModuleSource source = ModuleSource::none;
  std::vector<std::uint32_t> of;   // by node: the module that this call runs; kNothing where the node is no call
  std::vector<std::string> names;  // by module; empty with markers
};

// `map` given: markers and nothing else. Otherwise a module is what has one name; which of them called it is call_tree's to tell.
Modules find_modules(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map);

// Numbers into Forest::threads in the order in which to read them: the main thread, the others of its process, those that run backward
// last, so that what created a backward operator is read before it.
std::vector<std::uint32_t> reading_order(const trace::Trace& trace, const Forest& forest, const Steps& steps);

}  // namespace hotlens::attribution
