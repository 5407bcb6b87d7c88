#include "annotator/attribution/owners/copies.h"

#include <unordered_set>
#include <vector>

#include "annotator/common/hash.h"

namespace hotlens::attribution {

void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners) {
  std::unordered_set<std::int64_t, NumberHash> copies;
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (trace.events.category[event] != trace::Category::copy) continue;
    const std::string_view name = trace.names[trace.events.name[event]];
    if (name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos) {
      copies.insert(trace.events.correlation[event]);
    }
  }
  if (copies.empty()) return;
  const auto moves = [&](std::uint32_t node) { return forest.kind[node] == Kind::op && forest.traits_at(trace, node).moves; };
  std::vector<bool> holds(forest.size());  // a launch of a copy, or an operator that moves and holds one
  for (auto node = static_cast<std::uint32_t>(forest.size()); node-- > 0;) {
    if (forest.kind[node] == Kind::launch && copies.contains(trace.events.correlation[forest.event[node]])) holds[node] = true;
    const std::uint32_t parent = forest.parent[node];
    if (holds[node] && parent != kNoNode && moves(parent)) holds[parent] = true;
  }
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    if (parent != kNoNode && holds[parent]) holds[node] = true;  // all that it runs
    if (!holds[node]) continue;
    Owner& owner = owners.of[node];
    owner.copies = true;
    owner.known = true;
    if (owner.stage == Stage::other) owner.stage = Stage::copy;
  }
}

}  // namespace hotlens::attribution
