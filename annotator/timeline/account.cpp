#include "annotator/timeline/account.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace hotlens::timeline {
namespace {

// A launch takes 5 to 20 µs. One that takes this long while the device is busy all the time waits for room in the launch queue.
constexpr Ns kBlockedLaunch = std::chrono::microseconds(100);
constexpr double kBusyThroughout = 0.9;

struct Interval {
  Ns start{}, end{};
};

// When any stream was busy: `work`, sorted by start, merged.
std::vector<Interval> busy_intervals(const std::vector<Work>& work) {
  std::vector<Interval> busy;
  for (const Work& item : work) {
    if (!busy.empty() && item.start <= busy.back().end) {
      busy.back().end = std::max(busy.back().end, item.end);
    } else {
      busy.push_back({item.start, item.end});
    }
  }
  return busy;
}

Ns busy_within(const std::vector<Interval>& busy, Ns start, Ns end) {
  Ns sum{};
  for (auto at = std::ranges::upper_bound(busy, start, {}, &Interval::end); at != busy.end() && at->start < end; ++at) {
    sum += std::min(at->end, end) - std::max(at->start, start);
  }
  return sum;
}

// Cuts one thread's time inside a window into pieces. With `fill`, time outside every node is host time; otherwise it is left out.
class Cutter {
 public:
  Cutter(const trace::Trace& trace, const Forest& forest, const Owners& owners, const std::vector<Interval>& busy, StepSpan span)
      : trace_(trace), forest_(forest), owners_(owners), busy_(busy), span_(span) {}

  std::vector<Piece> cut(const Forest::Thread& thread, bool fill) {
    const auto first = forest_.start.begin();
    auto node = static_cast<std::uint32_t>(std::lower_bound(first + thread.begin, first + thread.end, span_.start) - first);
    const Level outside{kNoNode, span_.end, span_.start, kNoNode};
    levels_.assign(1, outside);
    for (; node < thread.end && forest_.start[node] < span_.end; ++node) {
      if (forest_.kind[node] == Kind::step) continue;
      close_until(forest_.start[node]);
      Level& around = levels_.back();
      gap(around, forest_.start[node], node);
      levels_.push_back({node, std::min(forest_.end[node], around.end), forest_.start[node], kNoNode});
    }
    close_until(span_.end);
    gap(levels_.back(), span_.end, kNoNode);
    if (!fill) drop_idle();
    return std::move(pieces_);
  }

 private:
  struct Level {
    std::uint32_t node = kNoNode;
    Ns end{};
    Ns reached{};                    // time up to here is cut
    std::uint32_t before = kNoNode;  // the last child
  };

  void close_until(Ns time) {
    while (levels_.size() > 1 && levels_.back().end <= time) {
      const Level done = levels_.back();
      gap(levels_.back(), done.end, kNoNode);
      levels_.pop_back();
      levels_.back().reached = done.end;
      levels_.back().before = done.node;
    }
  }

  // The time of a level between its last child and `next`.
  void gap(Level& level, Ns until, std::uint32_t next) {
    if (until <= level.reached) return;
    const Owner parent = level.node == kNoNode ? Owner{} : owners_.of[level.node];
    const Owner* a = level.before == kNoNode ? nullptr : &owners_.of[level.before];
    const Owner* b = next == kNoNode ? nullptr : &owners_.of[next];
    Piece piece{level.reached, until, parent, Bucket::host, level.node == kNoNode};
    if (level.node == kNoNode) {
      piece.owner = between(owners_, parent, a, b);
      if (piece.owner.stage != Stage::other) piece.bucket = bucket_of(piece.owner);
    } else {
      if (forest_.kind[level.node] != Kind::launch) piece.owner = inner(parent, a, b);
      piece.bucket = waits(level.node) ? Bucket::waiting : bucket_of(piece.owner);
    }
    level.reached = until;
    pieces_.push_back(piece);
  }

  // Inside an operator or range: never less than what the operator itself says.
  Owner inner(const Owner& parent, const Owner* a, const Owner* b) const {
    if (!a || !b || *a == *b || a->stage != parent.stage) return parent;
    Owner owner = between(owners_, parent, a, b);
    owner.copies = parent.copies;
    owner.communicates = parent.communicates;
    owner.accumulates = parent.accumulates;
    owner.direction = parent.direction == Direction::forward ? owner.direction : parent.direction;
    if (owners_.calls.common(owner.call, parent.call) != parent.call) owner.call = parent.call;
    if (owners_.lines.common(owner.line, parent.line) != parent.line) owner.line = parent.line;
    if (owners_.lines.common(owner.made_line, parent.made_line) != parent.made_line) owner.made_line = parent.made_line;
    return owner;
  }

  bool waits(std::uint32_t node) const {
    if (forest_.kind[node] != Kind::launch) return false;
    if (forest_.traits_at(trace_, node).waits) return true;
    const Ns duration = forest_.end[node] - forest_.start[node];
    if (duration < kBlockedLaunch) return false;
    const Ns busy = busy_within(busy_, forest_.start[node], forest_.end[node]);
    return static_cast<double>(busy.count()) >= kBusyThroughout * static_cast<double>(duration.count());
  }

  // A backward thread's time between two operators of one backward pass is backward, whatever it does there; its other free time is no
  // work of the step.
  void drop_idle() {
    std::erase_if(pieces_, [](const Piece& piece) { return piece.idle && piece.owner.stage != Stage::backward; });
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  const Owners& owners_;
  const std::vector<Interval>& busy_;
  StepSpan span_;
  std::vector<Level> levels_;
  std::vector<Piece> pieces_;
};

// A backward thread that pauses while the main thread runs something else is between two backward passes, not inside one.
void drop_pauses(std::vector<Piece>& worker, const std::vector<Piece>& wall) {
  const auto busy_elsewhere = [&](const Piece& piece) {
    auto at = std::ranges::upper_bound(wall, piece.start, {}, &Piece::end);
    for (; at != wall.end() && at->start < piece.end; ++at) {
      if (!at->idle && at->owner.stage != Stage::backward) return true;
    }
    return false;
  };
  std::erase_if(worker, [&](const Piece& piece) { return piece.idle && busy_elsewhere(piece); });
}

// Where the main thread runs no operator, the backward thread's pieces take its place. Module and line stay with the worker, which
// counts them itself.
std::vector<Piece> overlaid(const std::vector<Piece>& wall, const std::vector<Piece>& worker) {
  std::vector<Piece> result;
  for (const Piece& piece : wall) {
    if (!piece.idle) {
      result.push_back(piece);
      continue;
    }
    Ns at = piece.start;
    auto other = std::ranges::upper_bound(worker, piece.start, {}, &Piece::end);
    for (; other != worker.end() && other->start < piece.end; ++other) {
      if (other->owner.stage != Stage::backward) continue;
      const Ns from = std::max(other->start, at);
      const Ns to = std::min(other->end, piece.end);
      if (to <= from) continue;
      if (from > at) result.push_back({at, from, piece.owner, piece.bucket, true});
      Owner owner;
      owner.stage = Stage::backward;
      owner.known = true;
      result.push_back({from, to, owner, other->bucket});
      at = to;
    }
    if (piece.end > at) result.push_back({at, piece.end, piece.owner, piece.bucket, true});
  }
  return result;
}

std::vector<Work> device_work(const trace::Trace& trace, const Forest& forest, const Owners& owners) {
  const trace::Events& events = trace.events;
  std::unordered_map<std::int64_t, std::uint32_t> launches;
  std::vector<Work> work;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (trace::on_device(events.category[event])) work.push_back({.event = event, .start = events.start[event], .end = events.end(event)});
  }
  if (work.empty()) return work;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::launch) continue;
    const std::int64_t correlation = events.correlation[forest.event[node]];
    if (correlation > 0) launches[correlation] = node;
  }
  for (Work& item : work) {
    const auto launch = launches.find(events.correlation[item.event]);
    item.launched = item.start;
    if (launch == launches.end()) {
      item.bucket = Bucket::earlier_step;
      continue;
    }
    item.launch = launch->second;
    item.launched = forest.start[item.launch];
    item.owner = owners.of[item.launch];
    const std::string_view name = trace.names[events.name[item.event]];
    if (traits_of(name).communicates) item.owner.communicates = true;
    item.bucket = bucket_of(item.owner);
    if (events.category[item.event] == trace::Category::copy && name.find("HtoD") != std::string_view::npos) {
      item.bucket = Bucket::host_to_device;
    }
  }
  std::ranges::stable_sort(work, {}, &Work::start);
  return work;
}

void count_device(const Account& account, StepAccount& step) {
  Ns covered = step.span.start;
  std::array<Ns, kStages> reached{};
  reached.fill(Ns::min());
  for (std::uint32_t i = 0; i < account.work.size(); ++i) {
    const Work& work = account.work[i];
    const Ns from = std::max(work.start, covered);
    const Ns to = std::min(work.end, step.span.end);
    if (to > from) {
      const bool earlier = work.launched < step.span.start || work.launch == kNoNode;
      const Bucket bucket = earlier ? Bucket::earlier_step : work.bucket;
      step.device_by_bucket[static_cast<std::size_t>(bucket)] += to - from;
      step.device += to - from;
      covered = to;
    }
    if (work.launch == kNoNode || work.launched < step.span.start || work.launched >= step.span.end) continue;
    step.launched.push_back(i);
    const auto stage = static_cast<std::size_t>(work.owner.stage);
    const Ns begin = std::max(work.start, reached[stage]);
    if (work.end > begin) {
      step.device_by_stage[stage] += work.end - begin;
      reached[stage] = work.end;
    }
  }
}

void count_host(StepAccount& step) {
  for (const Piece& piece : step.wall) {
    const Ns time = piece.end - piece.start;
    step.wall_by_bucket[static_cast<std::size_t>(piece.bucket)] += time;
    step.wall_by_stage[static_cast<std::size_t>(piece.owner.stage)] += time;
  }
}

}  // namespace

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
      return Bucket::backward;
    case Stage::optimizer:
      return Bucket::optimizer;
    case Stage::other:
      return Bucket::unattributed;
  }
  return Bucket::unattributed;
}

Account account(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners) {
  Account result;
  result.work = device_work(trace, forest, owners);
  const std::vector<Interval> busy = busy_intervals(result.work);
  for (const StepSpan& span : steps.spans) {
    StepAccount step;
    step.span = span;
    if (steps.main == kNoNode) {
      step.wall = {{span.start, span.end, Owner{}, Bucket::host}};
    } else {
      step.wall = Cutter(trace, forest, owners, busy, span).cut(forest.threads[steps.main], true);
    }
    for (const Piece& piece : step.wall) step.cpu_by_stage[static_cast<std::size_t>(piece.owner.stage)] += piece.end - piece.start;
    for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
      if (thread == steps.main) continue;
      std::vector<Piece> worker = Cutter(trace, forest, owners, busy, span).cut(forest.threads[thread], false);
      drop_pauses(worker, step.wall);
      if (worker.empty()) continue;
      for (const Piece& piece : worker) step.cpu_by_stage[static_cast<std::size_t>(piece.owner.stage)] += piece.end - piece.start;
      step.wall = overlaid(step.wall, worker);
      step.workers.push_back(std::move(worker));
    }
    count_host(step);
    count_device(result, step);
    result.steps.push_back(std::move(step));
  }
  return result;
}

}  // namespace hotlens::timeline
