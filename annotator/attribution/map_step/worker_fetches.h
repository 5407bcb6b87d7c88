// Fetches of data that worker processes make: the training process waits there, and what it waits for are lines that ran elsewhere.
//
// The recorder has looked at which lines a worker is while it makes batches (ModuleMap::fetches). A fetch divides between them in these
// parts, each inside the line that fetches; what was none of the workspace's lines stays with that line.
#pragma once

#include <map>
#include <utility>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

class WorkerFetches {
 public:
  WorkerFetches(const ModuleMap& map, Owners& owners) : map_(map), owners_(owners) {}
  // Gives the fetch, a range of that name whose owner is known, its split.
  void divide(std::string_view name, Owner& owner);

 private:
  std::uint32_t line_of(std::uint32_t around, const FetchLines& stack);
  std::uint32_t split_of(std::uint32_t around);

  const ModuleMap& map_;
  Owners& owners_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lines_;  // by link and line inside it
  std::map<std::uint32_t, std::uint32_t> splits_;                           // by the line that fetches
};

}  // namespace hotlens::attribution
