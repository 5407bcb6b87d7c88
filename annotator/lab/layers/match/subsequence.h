// The best common subsequence of two lists: which entry of one is which of the other, in order.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace hotlens::layers {

using IndexPairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Of lists of n and m entries the pairs whose likenesses add up to most; the earliest where several do. `likeness` of two entries that
// are no pair is 0. Time and memory: n times m.
IndexPairs common_subsequence(std::size_t n, std::size_t m, const std::function<std::size_t(std::size_t, std::size_t)>& likeness);

}  // namespace hotlens::layers
