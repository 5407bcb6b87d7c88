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

// A module inside compiled code, as seen from the module whose call runs that code: one compiled code may serve several of them.
struct PartModule {
  std::string inside;               // its path below that module; empty where it is not below
  std::uint32_t module = kNothing;  // itself, where it is known by another way
};

// What a kernel of compiled code works for: nodes of one module, or of several that were fused.
struct PartShare {
  std::vector<PartModule> modules;   // called inside one another, the outermost first; none: the module that runs the code
  std::vector<std::uint32_t> lines;  // that led to it, the outermost first
  double weight = 1;                 // of the kernel's time; those of one kernel add up to 1
};

// Of what the workers of a loader run to make a batch: source lines, the outermost first, and their part of the time.
struct FetchLines {
  std::vector<std::uint32_t> lines;
  double weight = 0;  // those of all stacks add up to 1 at most: the rest is none of the workspace's lines
};

// What the recorder knows about the ids in its markers.
struct ModuleMap {
  std::vector<std::uint32_t> module_of_call, module_of_param;
  std::vector<std::uint32_t> module_parent;  // by module; kNothing for a root
  std::vector<std::uint32_t> module_class;   // by module: number of its class; empty where that is not known
  std::vector<std::uint32_t> definition;     // by module: one number for those that the same lines make; empty where that is not known
  std::vector<RootRole> role;                // by module: the role of its root
  std::vector<std::uint32_t> site_of_call;   // the expression that calls; kNothing where that is not known, empty where it never is
  std::size_t lines = 0;
  std::vector<std::string> path;              // by module; empty where no code was compiled
  std::vector<std::vector<PartShare>> parts;  // by kernel of compiled code; none where it is not known what it works for
  std::vector<Ns> watching;  // by line: what watching adds to an execution besides the line's own mark; empty where that is not known
  std::vector<FetchLines> fetches;  // of the loader that feeds the updates; none where no worker makes its batches
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
