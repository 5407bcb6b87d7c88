// Long stretches of host code between two operators: which module call and line they belong to, or, of a fetch of data, which lines.
//
// A clean step shows nothing there. Its map step ran the same code between the twins of the two operators, under markers, only slower. What
// took a small part of the clean pause even when watched was a small part of it at most, so the rest is known: a module that tokenizes
// before its first operator, a line that reads a file.
#pragma once

#include <optional>

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

// What at least three quarters of `clean` are inside of, by its twin `pause` of the map step; nullopt where that is not one forward
// execution, or where the map step's took much shorter.
std::optional<Owner> owner_of_pause(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean);

// How `clean`, a stretch of a fetch, divides between the lines that its twin in the map step ran: weights that add up to 1. A line takes as
// long as it took there, where they all fit; the line around them has the rest, since watching takes its time between lines. Empty where
// the twin ran anything but the fetch, or was much shorter.
std::vector<Share> lines_of_fetch(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean);

}  // namespace hotlens::attribution
