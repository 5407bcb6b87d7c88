// Which elements of two sequences may be twins.
//
// The same program ran a clean step and a map step, so their operator sequences are the same or nearly so. Where they differ, a longest
// common subsequence (Myers 1986) explains the difference with least change, but seldom a single one: of equal layers of which one did not
// run, any may be the missing one. Nothing is chosen here: every pair is told that some best explanation holds. The best ones are, among
// the longest common subsequences, those that leave out and put in the fewest pieces, and leave out of the map what begins and ends with a
// call, rather whole statements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hotlens::attribution {

// Where an element stands: what begins with it, or ends with it.
enum class Bound : std::uint8_t { statement, call, inside };

struct MapSequence {
  std::vector<std::uint32_t> words;
  std::vector<Bound> opens, closes;  // by element
};

// Pairs (clean + i, map + i) for i below `length`.
struct TwinRun {
  std::uint32_t clean = 0, map = 0, length = 0;

  friend bool operator==(const TwinRun&, const TwinRun&) = default;
};

struct Alignment {
  std::vector<TwinRun> runs;
  std::vector<bool> extra;  // by element of clean: some best explanation leaves it out
};

// Cost: linear for equal sequences, else O(n + D² + points) with D the number of differences and `points` those of the table that lie on a
// shortest path. Sequences that differ in too much, or repeat so much that almost anything is a pair, have no runs: twins would be guesses.
Alignment align(std::span<const std::uint32_t> clean, const MapSequence& map);

}  // namespace hotlens::attribution
