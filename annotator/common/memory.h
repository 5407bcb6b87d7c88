// How much memory there is, so that a file which somebody sent cannot take all of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/common/error.h"

namespace hotlens {

// Bytes that this process may still take: what the machine has free, less where its container or its shell allows less. As much as can be
// counted where nothing tells.
std::size_t memory_left();

// Bytes that the machine has, or its container if that allows less; nothing where nobody tells.
std::optional<std::size_t> memory_of_machine();

// Bytes of memory that this process has now; 0 where nothing tells.
std::size_t memory_used();

// What was refused, and what to do.
Error out_of_memory(std::string_view where);

// What one piece of work may take, counted from when the budget is made.
class MemoryBudget {
 public:
  // Reading is the smaller part of the work: events took 48 bytes each when they were read, and 340 at the height of what is made of them.
  MemoryBudget() : MemoryBudget(memory_left() / 8) {}
  explicit MemoryBudget(std::size_t bytes);
  bool exceeded() const { return memory_used() > most_; }

 private:
  std::size_t most_;
};

// The kernel's tables, as text.
std::optional<std::size_t> available_in(std::string_view meminfo);  // /proc/meminfo
std::optional<std::size_t> total_in(std::string_view meminfo);
std::optional<std::size_t> left_in_group(std::string_view most, std::string_view used, std::string_view stat);  // memory.max and its like

}  // namespace hotlens
