#include "annotator/timeline/copies.h"

#include <unordered_set>
#include <vector>

namespace hotlens::timeline {

void mark_copies(const trace::Trace& trace, const Forest& forest, Owners& owners) {
  std::unordered_set<std::int64_t> copies;
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (trace.events.category[event] != trace::Category::copy) continue;
    const std::string_view name = trace.names[trace.events.name[event]];
    if (name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos) {
      copies.insert(trace.events.correlation[event]);
    }
  }
  if (copies.empty()) return;
  std::vector<std::uint32_t> tops;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::launch || !copies.contains(trace.events.correlation[forest.event[node]])) continue;
    std::uint32_t top = node;
    for (std::uint32_t up = forest.parent[node]; up != kNoNode && forest.kind[up] == Kind::op; up = forest.parent[up]) {
      if (!forest.traits_at(trace, up).moves) break;
      top = up;
    }
    tops.push_back(top);
  }
  for (const std::uint32_t top : tops) {
    const std::uint32_t after = after_descendants(forest, top, static_cast<std::uint32_t>(forest.size()));
    for (std::uint32_t node = top; node < after; ++node) {
      Owner& owner = owners.of[node];
      owner.copies = true;
      owner.known = true;
      if (owner.stage == Stage::other) owner.stage = Stage::copy;
    }
  }
}

}  // namespace hotlens::timeline
