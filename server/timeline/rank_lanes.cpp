// What `lanes` says of the other ranks of a run: each a lane on the axis of the shown step, their clocks corrected.
#include <algorithm>

#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using attribution::Interval;
using protocol::Json;
using ranks::RankTotals;
using ranks::Stay;

constexpr std::size_t kMostRanks = 64;  // lanes that a person can look through; the report has all

// The part of a window on the axis of the shown step that a stretch of the first rank's clock covers.
class Window {
 public:
  Window(Ns zero, Ns from, Ns to, Ns pixel) : zero_(zero), from_(from), to_(to), pixel_(pixel) {}

  std::optional<Interval> part(Ns start, Ns end) const {
    const Interval cut{std::max(start - zero_, from_), std::min(end - zero_, to_)};
    return cut.end > cut.start ? std::optional(cut) : std::nullopt;
  }
  Ns pixel() const { return pixel_; }

 private:
  Ns zero_, from_, to_, pixel_;
};

// Stretches as columns. Neighbours inside one pixel are one stretch that lasts as long as they do.
class Columns {
 public:
  explicit Columns(const Window& window) : window_(window) {}

  void add(Ns start, Ns end) {
    const auto part = window_.part(start, end);
    if (!part) return;
    if (!list_.empty() && part->end - list_.back().start <= window_.pixel()) {
      list_.back().end += std::max(Ns{}, part->end - std::max(part->start, list_.back().end));
    } else {
      list_.push_back(*part);
    }
  }

  Json json() const {
    Json start = Json::array(), duration = Json::array();
    for (const Interval& each : list_) {
      start.push_back(each.start.count());
      duration.push_back((each.end - each.start).count());
    }
    return {{"start", std::move(start)}, {"duration", std::move(duration)}};
  }

 private:
  const Window& window_;
  std::vector<Interval> list_;
};

Json lane_json(const RankTotals& rank, std::size_t step, const Window& window) {
  Columns work(window), waiting(window), transferring(window);
  for (const Interval& each : rank.busy) work.add(each.start, each.end);
  for (const Stay& stay : rank.stays) {
    waiting.add(stay.start, stay.came);
    transferring.add(stay.came, stay.end);
  }
  return {{"rank", rank.rank},
          {"wall", rank.wall[step]->count()},
          {"waits", rank.waiting[step].count()},
          {"transfers", rank.transferring[step].count()},
          {"ahead", rank.clock.ahead.count()},
          {"work", work.json()},
          {"waiting", waiting.json()},
          {"transferring", transferring.json()}};
}

// The shown profile's own rank: of a bundle the one that it shows, else the one that its file is.
std::size_t own_rank(const ranks::Ranks& of, const Opened& opened) {
  const auto is_own = [&](const ranks::Source& source) {
    return source.path == opened.path() && (!source.rank || *source.rank == opened.profile().rank);
  };
  return static_cast<std::size_t>(std::ranges::find_if(of.sources, is_own) - of.sources.begin());
}

}  // namespace

void put_ranks(Json& answer, Library& library, const Subject& subject, const LaneWindow& view) {
  const auto of = library.ranks_of(*subject.opened);
  if (!of) return;
  const ranks::RankSet& set = of->set;
  const std::size_t own = own_rank(*of, *subject.opened);
  const auto step = std::ranges::find(set.steps, subject.opened->profile().steps[subject.step].index);
  if (own >= set.ranks.size() || step == set.steps.end()) return;
  const auto number = static_cast<std::size_t>(step - set.steps.begin());
  const auto zero = set.ranks[own].begin[number];
  if (!zero) return;
  const Window window(*zero, view.from, view.to, view.pixel);
  Json lanes = Json::array();
  for (std::size_t at = 0; at < set.ranks.size() && lanes.size() < kMostRanks; ++at) {
    if (!set.ranks[at].wall[number]) continue;
    Json lane = lane_json(set.ranks[at], number, window);
    lane["shown"] = at == own;
    const std::string id = of->sources[at].rank ? std::string() : library.id_of(of->sources[at].path);
    if (!id.empty()) lane["profile"] = id;
    lanes.push_back(std::move(lane));
  }
  answer["ranks"] = std::move(lanes);
}

}  // namespace hotlens::timeline_requests
