#include "annotator/attribution/owners/copies.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "annotator/attribution/structure/links.h"
#include "annotator/common/hash.h"

namespace hotlens::attribution {

namespace {

// By node: it launched a copy to the device. The id that a launch and its copy share tells; where a copy has none, its arrow.
std::vector<bool> copying_launches(const trace::Trace& trace, const Forest& forest) {
  std::unordered_set<std::int64_t, NumberHash> copies;
  std::vector<std::uint32_t> without_id;
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    if (trace.events.category[event] != trace::Category::copy) continue;
    const std::string_view name = trace.names[trace.events.name[event]];
    if (name.find("HtoD") == std::string_view::npos && name.find("HostToDevice") == std::string_view::npos) continue;
    const std::int64_t id = trace.events.correlation[event];
    if (id > 0) {
      copies.insert(id);
    } else {
      without_id.push_back(event);
    }
  }
  std::vector<bool> launches(copies.empty() && without_id.empty() ? 0 : forest.size());
  for (std::uint32_t node = 0; !copies.empty() && node < forest.size(); ++node) {
    launches[node] = forest.kind[node] == Kind::launch && copies.contains(trace.events.correlation[forest.event[node]]);
  }
  if (without_id.empty()) return launches;
  const Launches by_arrow(trace, forest);
  for (const std::uint32_t event : without_id) {
    if (const std::uint32_t node = by_arrow.of(event); node != kNoNode) launches[node] = true;
  }
  return launches;
}

}  // namespace

void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners) {
  std::vector<bool> holds = copying_launches(trace, forest);  // a launch of a copy, or an operator that moves and holds one
  if (holds.empty()) return;
  const auto moves = [&](std::uint32_t node) { return forest.kind[node] == Kind::op && forest.traits_at(trace, node).moves; };
  for (auto node = static_cast<std::uint32_t>(forest.size()); node-- > 0;) {
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
