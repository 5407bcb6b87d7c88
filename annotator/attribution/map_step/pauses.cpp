#include "annotator/attribution/map_step/pauses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
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

// A stretch longer than all of the clean pause held something else of the machine. Where its line ran several times besides, it takes as
// long as it mostly did.
void shorten(std::vector<Stretch>& found, const Owners& owners, Ns clean) {
  constexpr std::size_t kSeveral = 4;
  const Ns limit = clean + kMostWatching;
  const auto line_of = [&](const Stretch& stretch) {
    const std::uint32_t link = owners.of[stretch.node].line;
    return link == kNothing ? kNothing : owners.lines.value[link];
  };
  if (std::ranges::none_of(found, [&](const Stretch& stretch) { return stretch.length > limit; })) return;
  std::map<std::uint32_t, std::vector<Ns>> within;
  for (const Stretch& stretch : found) {
    if (stretch.length <= limit) within[line_of(stretch)].push_back(stretch.length);
  }
  for (Stretch& stretch : found) {
    std::vector<Ns>& usual = within[line_of(stretch)];
    if (stretch.length <= limit || usual.size() < kSeveral) continue;
    const auto middle = usual.begin() + static_cast<std::ptrdiff_t>(usual.size() / 2);
    std::ranges::nth_element(usual, middle);
    stretch.length = *middle;
  }
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

// Executions of a line stand for one another where they are alike all the way out.
class AlikeLines {
 public:
  explicit AlikeLines(const Chains& lines) : lines_(lines) {}

  std::uint32_t first_of(std::uint32_t link) {
    std::vector<std::uint32_t> chain;
    for (; link != kNothing && !known_.contains(link); link = lines_.parent[link]) chain.push_back(link);
    std::uint32_t outer = link == kNothing ? kNothing : known_.at(link);
    for (const std::uint32_t inner : chain | std::views::reverse) {
      outer = first_.try_emplace({outer, lines_.value[inner]}, inner).first->second;
      known_.emplace(inner, outer);
    }
    return outer;
  }

 private:
  const Chains& lines_;
  std::map<std::uint32_t, std::uint32_t> known_;                            // link to the first one that is alike
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first_;  // outer one, line
};

// What ran in the pause at one place, in `count` stretches.
struct Part {
  Share share;
  Ns length{};
  std::int64_t count = 0;

  Ns mean() const { return length / count; }
  Ns without(Ns watching) const { return std::max(length - watching * count, Ns{}); }
};

// Its part of what watching added to the line's execution, where that is known.
Ns watching_in(const Stretch& stretch, const Watched& map) {
  std::uint32_t node = stretch.node;
  while (node != kNoNode && map.forest.kind[node] != Kind::line) node = map.forest.parent[node];
  if (node == kNoNode || map.forest.value[node] >= map.watching.size()) return {};
  const double part = ratio(stretch.length, map.forest.end[node] - map.forest.start[node]);
  return Ns{std::llround(std::min(part, 1.0) * static_cast<double>(map.watching[map.forest.value[node]].count()))};
}

// In the order in which they began.
std::vector<Part> parts_of(const std::vector<Stretch>& found, const Watched& map) {
  AlikeLines lines(map.owners.lines);
  std::vector<Part> parts;
  std::map<std::tuple<std::optional<Stage>, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> known;
  for (const Stretch& stretch : found) {
    Share share = share_of(map.owners, stretch.node);
    share.line = lines.first_of(share.line);
    const auto [at, added] = known.try_emplace({share.stage, share.call, share.line, share.site}, parts.size());
    if (added) parts.push_back({.share = share});
    parts[at->second].length += std::max(stretch.length - watching_in(stretch, map), Ns{});
    ++parts[at->second].count;
  }
  return parts;
}

// What watching added to each stretch, if that was the same for all: without it they take as long as the clean pause did, or nearly. What
// ran many times took as long as watching it, at least; then all may take longer than the clean pause did, whose parts are in proportion.
Ns watching(std::vector<Part> parts, Ns clean) {
  constexpr std::int64_t kMany = 8;
  if (parts.empty()) return {};
  std::ranges::sort(parts, std::ranges::greater{}, &Part::mean);
  Ns sum{}, added{}, most = kMostWatching;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i].length;
    count += parts[i].count;
    added = (sum - clean) / count;
    if (i + 1 == parts.size() || added >= parts[i + 1].mean()) break;
  }
  for (const Part& part : parts) {
    if (part.count >= kMany) most = std::min(most, part.mean());
  }
  return std::clamp(added, Ns{}, most);
}

}  // namespace

std::vector<Share> owners_of_pause(const Watched& map, Pause pause, Pause clean) {
  std::vector<Stretch> found = stretches(map.forest, map.thread, pause);
  std::erase_if(found, [&](const Stretch& stretch) { return is_ours(map.forest, stretch.node); });
  shorten(found, map.owners, clean.length());
  Ns seen{};
  for (const Stretch& stretch : found) seen += stretch.length;
  if (ratio(seen, clean.length()) < kLeast) return {};
  const std::vector<Part> parts = parts_of(found, map);
  const Ns added = watching(parts, clean.length());
  Ns sum{};
  for (const Part& part : parts) sum += part.without(added);
  std::vector<Share> shares;
  for (const Part& part : parts) {
    if (part.without(added) <= Ns{}) continue;
    shares.push_back(part.share);
    shares.back().weight = ratio(part.without(added), sum);
  }
  if (std::ranges::none_of(shares, [](const Share& share) { return share.stage.has_value(); })) return {};
  return shares;
}

std::vector<Share> lines_of_fetch(const Watched& map, Pause pause, Pause clean) {
  if (ratio(pause.length(), clean.length()) < kLeast) return {};
  const Owners& owners = map.owners;
  std::vector<Stretch> found = stretches(map.forest, map.thread, pause);
  std::uint32_t around = kNothing;
  for (const Stretch& stretch : found) {
    if (stretch.node == kNoNode) return {};
    const Owner& owner = owners.of[stretch.node];
    if (owner.stage != Stage::data || owner.call != kNothing) return {};
    around = &stretch == &found.front() ? owner.line : owners.lines.common(around, owner.line);
  }
  std::erase_if(found, [&](const Stretch& stretch) { return owners.of[stretch.node].line == around; });
  shorten(found, owners, clean.length());
  const std::vector<Part> parts = parts_of(found, map);
  const Ns added = watching(parts, clean.length());
  Ns inner{};
  for (const Part& part : parts) inner += part.without(added);
  const Ns whole = std::max(inner, clean.length());
  std::vector<Share> shares;
  for (const Part& part : parts) shares.push_back({.line = part.share.line, .weight = ratio(part.without(added), whole)});
  shares.push_back({.line = around, .weight = ratio(whole - inner, whole)});
  return shares;
}

}  // namespace hotlens::attribution
