// Long stretches of host code between two operators: which module calls, stages and lines they belong to.
//
// A clean step shows nothing there. Its map step ran the same code between the twins of the two operators, under markers, only slower. So
// the time divides as it did there: a module that tokenizes before its first operator, a line that reads a file, a generator that makes
// the next batch.
#pragma once

#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// Shorter ones are what Python takes from one operator to the next; watching takes longer than they do.
constexpr Ns kShortestPause = std::chrono::microseconds(100);

// The same of a fetch, which runs hardly anything else.
constexpr Ns kShortestFetch = std::chrono::microseconds(10);

struct Pause {
  Ns start{}, end{};

  Ns length() const { return end - start; }
};

// The thread of a map step.
struct Watched {
  const Forest& forest;
  const Owners& owners;
  const Forest::Thread& thread;
  const std::vector<Ns>& watching;  // as in a ModuleMap
};

// How `clean` divides between what its twin `pause` of the map step ran, in the order in which that began: weights that add up to 1. Of
// each stretch there the same time is taken to be watching's own, so that many short ones do not outweigh a long one; one longer than all
// of `clean` held something else of the machine, and counts as its line's others do. Executions of a line count together. What has a range
// of its own in a clean step, too (an update, a backward pass), leaves its part as it is. Empty where the map step's was much shorter, or
// knows nothing.
std::vector<Share> owners_of_pause(const Watched& map, Pause pause, Pause clean);

// How `clean`, a stretch of a fetch, divides between the lines that its twin in the map step ran: weights that add up to 1. A line takes as
// long as it took there, without what watching added where they do not all fit; the line around them has the rest. Empty where the twin ran
// anything but the fetch, or was much shorter.
std::vector<Share> lines_of_fetch(const Watched& map, Pause pause, Pause clean);

}  // namespace hotlens::attribution
