// How alike two statements are that are not the same, and the best pairing of two runs of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/source/outline/outline.h"

namespace hotlens::source {

// Share of equal members of two multisets (Dice), given sorted: 0 … 1.
double dice(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

// Token hashes of a statement, once in order and once sorted.
struct Sketch {
  std::vector<std::uint64_t> ordered, sorted;
};
Sketch sketch(std::string_view text, const Statement& statement);

// Pairs (index into a, index into b), increasing in both, with the greatest sum of likeness; statements that have little in common are not
// paired. Quadratic; runs too long for that are compared index by index when they are equally long.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_alike(std::span<const Sketch> a, std::span<const Sketch> b);

}  // namespace hotlens::source
