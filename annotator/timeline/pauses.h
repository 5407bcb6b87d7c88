// Long stretches of host code between two operators: which module call and line they belong to.
//
// A clean step shows nothing there. Its map step ran the same code between the twins of the two operators, under markers, only slower.
// Where both took about as long, what the map step spent there was not spent on watching, and most of it tells what the clean step did: a
// module that tokenizes before its first operator, a line that reads a file.
#pragma once

#include <optional>

#include "annotator/timeline/owners.h"

namespace hotlens::timeline {

// Shorter ones are what Python takes from one operator to the next; watching takes longer than they do.
constexpr Ns kShortestPause = std::chrono::microseconds(100);

struct Pause {
  Ns start{}, end{};

  Ns length() const { return end - start; }
};

// What most of a pause of the map step is inside of; nullopt where that is not one forward execution, or where the pause took much longer
// or shorter than `clean`, its twin.
std::optional<Owner> owner_of_pause(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean);

}  // namespace hotlens::timeline
