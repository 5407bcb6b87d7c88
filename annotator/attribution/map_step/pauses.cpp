#include "annotator/attribution/map_step/pauses.h"

#include <algorithm>
#include <map>
#include <vector>

namespace hotlens::attribution {
namespace {

constexpr double kLeast = 0.5;  // of a clean pause: a shorter one in the map step is not all of it

// More than opening and closing a mark takes, with the calls of the trace function around it: else the map step was slow for another
// reason.
constexpr Ns kMostWatching = std::chrono::microseconds(25);

double ratio(Ns part, Ns whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// A stretch of the pause inside one and the same node.
struct Stretch {
  Ns length{};
  std::uint32_t node = kNoNode;
};

// In order of time.
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
  return found;
}

// What watching added to each stretch, if that was the same for all: without it they take as long as the clean pause did, or nearly.
Ns watching(const std::vector<Stretch>& found, Ns clean) {
  std::vector<Ns> lengths;
  for (const Stretch& stretch : found) lengths.push_back(stretch.length);
  std::ranges::sort(lengths, std::ranges::greater{});
  Ns sum{}, added{};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sum += lengths[i];
    added = (sum - clean) / static_cast<std::int64_t>(i + 1);
    if (i + 1 == lengths.size() || added >= lengths[i + 1]) break;
  }
  return std::clamp(added, Ns{}, kMostWatching);
}

// Host code of a step's own, of the forward, or of a fetch by a generator: what else it may be has a range of its own.
bool may_own(const Owner& owner) {
  const bool computes = owner.stage == Stage::forward || owner.stage == Stage::loss || owner.stage == Stage::evaluation;
  const bool own = owner.stage == Stage::other || owner.stage == Stage::data;
  return owner.direction == Direction::forward && (own || (computes && owner.call != kNothing));
}

// Outside of every mark the recorder itself is at work: it prepares the step that it traces.
bool is_ours(const Forest& map, std::uint32_t node) {
  return node == kNoNode || map.kind[node] == Kind::step;
}

Share share_of(const Owners& owners, std::uint32_t node) {
  if (!may_own(owners.of[node])) return {};
  const Owner& owner = owners.of[node];
  return {.call = owner.call, .line = owner.line, .site = owner.site, .stage = owner.stage};
}

bool same(const Share& a, const Share& b) {
  return a.stage == b.stage && a.call == b.call && a.line == b.line && a.site == b.site;
}

}  // namespace

std::vector<Share> owners_of_pause(const Forest& map, const Owners& owners, const Forest::Thread& thread, Pause pause, Pause clean) {
  std::vector<Stretch> found = stretches(map, thread, pause);
  std::erase_if(found, [&](const Stretch& stretch) { return is_ours(map, stretch.node); });
  Ns seen{};
  for (const Stretch& stretch : found) seen += stretch.length;
  if (ratio(seen, clean.length()) < kLeast) return {};
  const Ns added = watching(found, clean.length());
  std::vector<Share> shares;
  double sum = 0;
  for (const Stretch& stretch : found) {
    if (stretch.length <= added) continue;
    const Share share = share_of(owners, stretch.node);
    auto at = std::ranges::find_if(shares, [&](const Share& each) { return same(each, share); });
    if (at == shares.end()) at = shares.insert(at, share);
    at->weight += ratio(stretch.length - added, clean.length());
    sum += ratio(stretch.length - added, clean.length());
  }
  if (std::ranges::none_of(shares, [](const Share& share) { return share.stage.has_value(); })) return {};
  for (Share& share : shares) share.weight /= sum;
  return shares;
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
