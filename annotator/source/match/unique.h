// What is unique in two lists, and the longest common order of it (patience diff).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotator/source/outline/outline.h"

namespace hotlens::source {

using Key = std::uint64_t Statement::*;

// key → index where it is unique among `indices`, kNoStatement where it is repeated.
std::unordered_map<std::uint64_t, std::uint32_t> unique(const std::vector<Statement>& list, std::span<const std::uint32_t> indices,
                                                        Key key);

using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // positions in two lists

// Pairs of positions whose key is unique in both lists, increasing on both sides, as many as there can be.
Places unique_in_both(const std::vector<Statement>& old_statements, std::span<const std::uint32_t> old_list,
                      const std::vector<Statement>& now_statements, std::span<const std::uint32_t> now_list, Key key);

}  // namespace hotlens::source
