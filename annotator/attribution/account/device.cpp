#include "annotator/attribution/account/device.h"

#include <algorithm>

#include "annotator/attribution/structure/links.h"

namespace hotlens::attribution {
namespace {

void link(Work& item, const trace::Trace& trace, const Forest& forest, const Owners& owners, const Launches& launches) {
  const trace::NameId name_id = trace.events.name[item.event];
  const std::string_view name = trace.names[name_id];
  const std::uint32_t launch = launches.of(item.event);
  item.launched = item.queued = item.start;
  item.owner.communicates = forest.traits[name_id.index].communicates;
  if (launch == kNoNode) {
    item.bucket = Bucket::earlier_step;
    return;
  }
  const bool communicates = item.owner.communicates;
  item.launch = launch;
  item.launched = forest.start[item.launch];
  item.queued = forest.end[item.launch];
  item.owner = owners.of[item.launch];
  item.owner.communicates |= communicates;
  item.bucket = bucket_of(item.owner);
  const bool copies = trace.events.category[item.event] == trace::Category::copy && name.find("HtoD") != std::string_view::npos;
  if (copies && !item.owner.communicates) {
    item.bucket = Bucket::host_to_device;
  }
}

std::vector<Interval> intervals(std::span<const Work> work, bool with_communication) {
  std::vector<Interval> all;
  for (const Work& item : work) {
    if (with_communication || !item.owner.communicates) all.push_back({item.start, item.end});
  }
  return merged(all);
}

void measure_exposure(std::vector<Work>& work) {
  if (std::ranges::none_of(work, [](const Work& item) { return item.owner.communicates; })) return;
  const std::vector<Interval> computing = computing_intervals(work);
  Ns covered = Ns::min();
  for (Work& item : work) {
    if (!item.owner.communicates) continue;
    const Ns from = std::max(item.start, covered);
    if (item.end > from) item.exposed = item.end - from - within(computing, from, item.end);
    covered = std::max(covered, item.end);
  }
}

}  // namespace

std::vector<BusyPiece> busy_pieces(std::span<const Work> work, std::span<const Ns> reached, Ns start, Ns end) {
  std::vector<BusyPiece> pieces;
  const auto first = static_cast<std::uint32_t>(std::ranges::upper_bound(reached, start) - reached.begin());
  bool communicates = false;
  Ns covered = start;
  for (std::uint32_t at = first; at < work.size() && work[at].start < end; ++at) {
    communicates |= work[at].owner.communicates;
    const Ns from = std::max(work[at].start, covered), to = std::min(work[at].end, end);
    if (work[at].owner.communicates || to <= from) continue;
    pieces.push_back({from, to, at});
    covered = to;
  }
  if (!communicates) return pieces;
  std::vector<BusyPiece> exposed;
  auto other = pieces.begin();
  covered = start;
  for (std::uint32_t at = first; at < work.size() && work[at].start < end; ++at) {
    Ns from = std::max(work[at].start, covered);
    const Ns to = std::min(work[at].end, end);
    if (!work[at].owner.communicates || to <= from) continue;
    covered = to;
    while (other != pieces.end() && other->end <= from) ++other;
    for (auto beside = other; beside != pieces.end() && beside->start < to; ++beside) {
      if (beside->start > from) exposed.push_back({from, beside->start, at});
      from = std::max(from, beside->end);
    }
    if (to > from) exposed.push_back({from, to, at});
  }
  std::vector<BusyPiece> all(pieces.size() + exposed.size());
  std::ranges::merge(pieces, exposed, all.begin(), {}, &BusyPiece::start, &BusyPiece::start);
  return all;
}

Bucket bucket_of(const Owner& owner) {
  if (owner.communicates) return Bucket::communication;
  if (owner.copies) return Bucket::host_to_device;
  if (owner.accumulates) return Bucket::gradient_accumulation;
  switch (owner.stage) {
    case Stage::data:
      return Bucket::data_loading;
    case Stage::copy:
      return Bucket::host_to_device;
    case Stage::zero_grad:
      return Bucket::zero_grad;
    case Stage::forward:
      return Bucket::forward;
    case Stage::loss:
      return Bucket::loss;
    case Stage::backward:
      return owner.direction == Direction::recompute ? Bucket::recompute : Bucket::backward;
    case Stage::optimizer:
      return Bucket::optimizer;
    case Stage::evaluation:
      return Bucket::evaluation;
    case Stage::other:
      return Bucket::unattributed;
  }
  return Bucket::unattributed;
}

std::vector<Work> device_work(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners) {
  const trace::Events& events = trace.events;
  const Launches launches(trace, forest);
  std::vector<Work> work;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (!trace::on_device(events.category[event])) continue;
    if (steps.main != kNoNode && launches.belongs_to_another(event, forest.threads[steps.main].process)) continue;
    work.push_back({.event = event, .start = events.start[event], .end = events.end(event), .stream = events.thread[event]});
  }
  if (work.empty()) return work;
  for (Work& item : work) link(item, trace, forest, owners, launches);
  std::ranges::stable_sort(work, {}, &Work::start);
  measure_exposure(work);
  return work;
}

std::vector<Interval> merged(std::span<const Interval> sorted) {
  std::vector<Interval> result;
  for (const Interval& item : sorted) {
    if (!result.empty() && item.start <= result.back().end) {
      result.back().end = std::max(result.back().end, item.end);
    } else {
      result.push_back(item);
    }
  }
  return result;
}

Ns within(std::span<const Interval> merged, Ns start, Ns end) {
  Ns sum{};
  for (auto at = std::ranges::upper_bound(merged, start, {}, &Interval::end); at != merged.end() && at->start < end; ++at) {
    sum += std::min(at->end, end) - std::max(at->start, start);
  }
  return sum;
}

std::vector<Interval> busy_intervals(std::span<const Work> work) {
  return intervals(work, true);
}

std::vector<Interval> computing_intervals(std::span<const Work> work) {
  return intervals(work, false);
}

}  // namespace hotlens::attribution
