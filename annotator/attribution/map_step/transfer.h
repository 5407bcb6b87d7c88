// From the map step, of which everything is known, to the clean steps, which are timed: owners for their operators.
//
// An operator has the owner of its twin (twins.h). Where it may have several, it has what all of them share: the innermost module and line
// that the chains of all lead through. So of a stack of equal layers of which a step leaves some out, no layer gets time that may be
// another's; the stack gets it. A map step that left out a layer itself cannot tell it from its equals in other steps: modules of one class
// beside one another, of which the map step ran some only, count as their parent, once any step shows that what runs among them changes.
#pragma once

#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// One trace seen as sequences to align.
struct Recorded {
  const trace::Trace& trace;
  const Forest& forest;
  const Steps& steps;
};

// Operators of one clean step.
struct StepFit {
  std::size_t operators = 0;
  std::size_t found = 0;    // with a twin in the map step
  std::size_t certain = 0;  // of these with a single possible owner
};

// A module that holds what may belong to several inside it.
struct Blurred {
  std::uint32_t module = kNothing;
  std::size_t operators = 0;  // of all clean steps
};

struct Transfer {
  Owners owners;                    // of the clean trace's nodes, with the map's chains
  std::vector<StepFit> steps;       // by clean step
  std::vector<Blurred> blurred;     // most operators first
  std::vector<std::uint32_t> twin;  // by clean node: an event of the map trace that was given the same; kNoNode where that is not certain
};

// Gives every operator of the clean steps the owner that its twins in the map step share; those without one get their parent's or
// neighbours'. `modules`: of the map step.
Transfer transfer(const Recorded& clean, const Recorded& map, Owners map_owners, const ModuleMap& modules);

}  // namespace hotlens::attribution
