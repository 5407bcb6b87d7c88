#include "annotator/attribution/map_step/pauses.h"

#include <algorithm>
#include <map>
#include <vector>

namespace hotlens::attribution {
namespace {

constexpr double kMostElsewhere = 0.25;  // of a clean pause: what the map step, which is slower, ran elsewhere in its own
constexpr double kLeast = 0.5;           // of a clean pause: a shorter one in the map step is not all of it

double ratio(Ns part, Ns whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// A stretch of the pause inside one and the same node.
struct Stretch {
  Ns length{};
  std::uint32_t node = kNoNode;
};

// Longest first.
std::vector<Stretch> stretches(const Forest& map, const Forest::Thread& thread, Pause pause) {
  const std::uint32_t first = first_from(map, thread, pause.start), last = first_from(map, thread, pause.end);
  std::vector<Ns> edges{pause.start, pause.end};
  const auto add = [&](Ns edge) {
    if (edge > pause.start && edge < pause.end) edges.push_back(edge);
  };
  for (std::uint32_t node = first; node < last; ++node) {
    add(map.start[node]);
    add(map.end[node]);
  }
  std::uint32_t open = first == thread.begin ? kNoNode : first - 1;  // what runs when the pause begins is this, or around it
  for (std::uint32_t node = open; node != kNoNode; node = map.parent[node]) add(map.end[node]);
  std::ranges::sort(edges);
  std::vector<Stretch> found;
  std::uint32_t next = first;
  for (std::size_t at = 1; at < edges.size(); ++at) {
    for (; next < last && map.start[next] <= edges[at - 1]; ++next) open = next;
    while (open != kNoNode && map.end[open] <= edges[at - 1]) open = map.parent[open];
    if (edges[at] > edges[at - 1]) found.push_back({edges[at] - edges[at - 1], open});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Stretch::length);
  return found;
}

// Of host code of a step's own, or of the forward: what else it may be (an update, a fetch) has a range of its own.
bool may_own(const Owner& owner) {
  const bool computes = owner.stage == Stage::forward || owner.stage == Stage::loss || owner.stage == Stage::evaluation;
  return owner.direction == Direction::forward && (owner.stage == Stage::other || (computes && owner.call != kNothing));
}

}  // namespace

std::optional<Owner> owner_of_pause(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean) {
  if (ratio(pause.length(), clean.length()) < kLeast) return std::nullopt;
  std::optional<Owner> shared;
  Ns elsewhere = pause.length();
  for (const Stretch& stretch : stretches(map, thread, pause)) {
    if (stretch.node == kNoNode) return std::nullopt;
    const Owner& owner = owners.of[stretch.node];
    if (!may_own(owner)) return std::nullopt;
    if (!shared) shared = owner;
    if (owner.stage != shared->stage) return std::nullopt;
    shared->call = owners.calls.common(shared->call, owner.call);
    shared->line = owners.lines.common(shared->line, owner.line);
    shared->site = owners.sites.common(shared->site, owner.site);
    elsewhere -= stretch.length;
    if (ratio(elsewhere, clean.length()) <= kMostElsewhere) return shared;
  }
  return std::nullopt;
}

std::vector<Share> lines_of_fetch(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean) {
  if (ratio(pause.length(), clean.length()) < kLeast) return {};
  std::map<std::uint32_t, Ns> lines;
  std::uint32_t around = kNothing;
  for (const Stretch& stretch : stretches(map, thread, pause)) {
    if (stretch.node == kNoNode) return {};
    const Owner& owner = owners.of[stretch.node];
    if (owner.stage != Stage::data || owner.call != kNothing) return {};
    around = lines.empty() ? owner.line : owners.lines.common(around, owner.line);
    lines[owner.line] += stretch.length;
  }
  lines.erase(around);
  Ns inner{};
  for (const auto& [line, length] : lines) inner += length;
  const Ns whole = std::max(inner, clean.length());
  std::vector<Share> shares;
  for (const auto& [line, length] : lines) shares.push_back({.line = line, .weight = ratio(length, whole)});
  shares.push_back({.line = around, .weight = ratio(whole - inner, whole)});
  return shares;
}

}  // namespace hotlens::attribution
