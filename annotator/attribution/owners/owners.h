// Whose time it is: module call, source line, stage and direction of every host node of a trace.
//
// Module calls come from modules.h, or for a clean step from the operators of the map step that it repeats (align.h). Backward operators
// belong to the module call whose forward created the autograd node (creators.h, backward_order.h); AccumulateGrad to the owner of its
// parameter; a module run again inside backward is a recomputation. An optimizer that runs in a hook, inside backward, is the optimizer's.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "annotator/attribution/owners/backward_order.h"
#include "annotator/attribution/owners/modules.h"
#include "annotator/attribution/steps/steps.h"
#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

// A tree of executions (module calls, source lines, or expressions that call modules), each inside the one that was running when it began.
// No deeper than `deepest`: what would be deeper stands beside its parent instead, so that walking outwards is cheap whatever a trace
// holds.
struct Chains {
  std::vector<std::uint32_t> parent, value, depth;  // value: module, line or calling expression
  std::vector<Ns> start;
  std::vector<bool> again;  // no execution to count: a recomputation, the rest of a line, or made up for a module that never ran itself
  std::vector<std::uint32_t> repeats;  // of a recomputation: the execution that it runs again; else kNothing

  std::uint32_t deepest = kDeepest;

  std::uint32_t add(std::uint32_t parent_link, std::uint32_t of, Ns begin, bool is_again, std::uint32_t repeated = kNothing);
  // The innermost execution that both are inside of (or are); kNothing when there is none.
  std::uint32_t common(std::uint32_t a, std::uint32_t b) const;
  // The innermost execution on the chain of `a` up to which the chain of `b` has the same values; kNothing when there is none. `same`:
  // values that have one number there count as the same.
  std::uint32_t alike(std::uint32_t a, std::uint32_t b, const std::vector<std::uint32_t>* same = nullptr) const;
  // Whether `link` is deeper than `other`, where kNothing is outside of everything.
  bool is_inside(std::uint32_t link, std::uint32_t other) const {
    return link != kNothing && (other == kNothing || depth[link] > depth[other]);
  }
};

// One of several that a fused kernel works for, or that run in a fetch of data or in a pause, and an estimate of its part of the time.
struct Share {
  std::uint32_t call = kNothing, line = kNothing, made_line = kNothing, site = kNothing;  // as of an Owner
  std::optional<Stage> stage;  // of a pause's: absent where nothing is known of this part
  double weight = 0;           // those of one kernel, fetch or pause add up to 1
};

struct Owner {
  std::uint32_t call = kNothing;    // into Owners::calls
  std::uint32_t one_of = kNothing;  // deeper than `call` where it ran in one of several modules, not known which: the call of any of them
  std::uint32_t line = kNothing;    // into Owners::lines: the line that ran
  std::uint32_t made_line = kNothing;  // of a backward operator: the line whose forward created it, or that calls the parameter's module
  std::uint32_t site = kNothing;       // into Owners::sites: the expression that called the module
  std::uint32_t split =
      kNothing;  // into Owners::splits: of a fused kernel, a fetch or a pause; of a kernel `call` is what all its modules are inside of
  Stage stage = Stage::other;
  Direction direction = Direction::forward;
  bool accumulates = false;  // gradient accumulation
  bool communicates = false;
  bool copies = false;  // moves data to the device
  bool known = false;   // something claims it, be it only a stage

  std::uint32_t innermost() const { return one_of != kNothing ? one_of : call; }
  // Whether its time is its module's. Exchanging gradients is work of all that take part, not of the module whose gradient was accumulated
  // last; what a module itself exchanges in backward (SyncBatchNorm) is its own.
  bool works_for_module() const { return call != kNothing && !(communicates && accumulates); }

  friend bool operator==(const Owner&, const Owner&) = default;
};

struct Owners {
  std::vector<Owner> of;  // by node
  // By the node after it: host code before it, where a map step tells (pauses.h).
  std::unordered_map<std::uint32_t, Owner> pauses;
  std::unordered_map<std::uint32_t, Owner> tails;  // the same by the last node of a step: host code behind it
  Chains calls, lines, sites;
  std::vector<std::vector<Share>> splits;
  ModuleSource source = ModuleSource::none;
  std::optional<OrderFit> order;   // of a trace that does not tell which forward its backward belongs to: how much of it order tells
  std::vector<FoundModule> found;  // modules of a trace without a map, parents first; empty with a map. Calls have their numbers
};

// Owners from markers (`map` given) or from what the trace itself tells.
Owners find_owners(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map);

// The owner of the time between two neighbours `a` and `b` inside `parent`: what both are inside of, when they are in the same stage.
Owner between(const Owners& owners, const Owner& parent, const Owner* a, const Owner* b);

}  // namespace hotlens::attribution
