#include "annotator/attribution/account/account.h"

#include <algorithm>
#include <chrono>

#include "annotator/attribution/account/exchanges.h"
#include "annotator/attribution/account/overlay.h"
#include "annotator/attribution/account/windows.h"

namespace hotlens::attribution {
namespace {

// A launch takes 5 to 20 µs. One that takes this long while the device is busy all the time waits for room in the launch queue.
constexpr Ns kBlockedLaunch = std::chrono::microseconds(100);
constexpr double kBusyThroughout = 0.9;

// What tells a launch that waits for the device from one that works.
class Waits {
 public:
  Waits(const trace::Trace& trace, const Forest& forest, const std::vector<Work>& work)
      : trace_(trace), forest_(forest), busy_(busy_intervals(work)) {
    for (const Work& item : work) {
      if (item.launch == kNoNode || trace.events.category[item.event] != trace::Category::copy) continue;
      copies_.push_back({item.launch, item.start, item.end, item.bucket == Bucket::host_to_device});
    }
    std::ranges::sort(copies_, {}, &Copy::launch);
  }

  // Until when the piece [start, end) of a launch waits: `start` where it never does.
  Ns until(std::uint32_t node, Ns start, Ns end) const {
    if (forest_.kind[node] != Kind::launch) return start;
    const bool waits = forest_.traits_at(trace_, node).waits;
    const Ns duration = forest_.end[node] - forest_.start[node];
    if (!waits && duration < kBlockedLaunch) return start;
    if (const Copy* copy = copy_of(node); copy && copy->end <= forest_.end[node]) {
      return copy->to_device ? std::clamp(copy->start, start, end) : end;
    }
    if (waits) return end;
    const Ns busy = within(busy_, forest_.start[node], forest_.end[node]);
    return static_cast<double>(busy.count()) >= kBusyThroughout * static_cast<double>(duration.count()) ? end : start;
  }

 private:
  struct Copy {
    std::uint32_t launch = kNoNode;
    Ns start{}, end{};
    bool to_device = false;
  };

  const Copy* copy_of(std::uint32_t node) const {
    const auto at = std::ranges::lower_bound(copies_, node, {}, &Copy::launch);
    return at != copies_.end() && at->launch == node ? &*at : nullptr;
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  std::vector<Interval> busy_;
  std::vector<Copy> copies_;  // by launch
};

// Cuts one thread's time inside a window into pieces. With `fill`, time outside every node is host time; otherwise it is left out.
class Cutter {
 public:
  Cutter(const Forest& forest, const Owners& owners, const Waits& waits, StepSpan span)
      : forest_(forest), owners_(owners), waits_(waits), span_(span) {}

  std::vector<Piece> cut(const Forest::Thread& thread, bool fill) {
    std::uint32_t node = first_from(forest_, thread, span_.start);
    const Level outside{kNoNode, span_.end, span_.start, kNoNode};
    levels_.assign(1, outside);
    const std::uint32_t end = first_from(forest_, thread, span_.end);
    // Before each node and behind it. What stays unused is never touched and costs nothing; growing copies it all.
    pieces_.reserve(2 * (std::max(end, node) - node) + std::size_t{1});
    for (; node < end; ++node) {
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
    // A main thread inside a person's "backward" range waits for the backward thread like one outside of it.
    const bool idle = level.node == kNoNode || forest_.is_stage(level.node, Stage::backward);
    Piece piece{level.reached, until, parent, Bucket::host, idle};
    piece.node = level.node;
    // A range that says nothing of a stage (a wrapper's "forward", a person's "my step") leaves what lies between operators as it is.
    if (level.node == kNoNode || (forest_.kind[level.node] == Kind::range && parent.stage == Stage::other)) {
      piece.owner = between(owners_, parent, a, b);
      if (level.node == kNoNode) tell_pause(piece.owner, level.before, next);
      if (piece.owner.stage != Stage::other) piece.bucket = bucket_of(piece.owner);
    } else {
      if (forest_.kind[level.node] != Kind::launch) piece.owner = inner(parent, a, b);
      if (forest_.is_stage(level.node, Stage::data)) divide_fetch(piece.owner, parent, next);
      piece.bucket = bucket_of(piece.owner);
    }
    level.reached = until;
    push(piece);
  }

  // What is known of the time before `next`, or behind the last node.
  void tell_pause(Owner& owner, std::uint32_t before, std::uint32_t next) const {
    const auto& known = next == kNoNode ? owners_.tails : owners_.pauses;
    const auto pause = known.find(next == kNoNode ? before : next);
    if (pause != known.end()) owner.split = pause->second.split;
  }

  // Between the lines that a map step shows before `next`, or those that workers ran.
  void divide_fetch(Owner& owner, const Owner& fetch, std::uint32_t next) const {
    const auto pause = owners_.pauses.find(next);
    owner.split = pause != owners_.pauses.end() ? pause->second.split : fetch.split;
  }

  // A launch that waits first and works then makes two pieces.
  void push(Piece piece) {
    const Ns working = piece.node == kNoNode ? piece.start : waits_.until(piece.node, piece.start, piece.end);
    if (working > piece.start) {
      Piece waiting = piece;
      waiting.end = working;
      waiting.bucket = Bucket::waiting;
      pieces_.push_back(waiting);
      piece.start = working;
    }
    if (piece.end > piece.start) divide(piece);
  }

  // The time of a fused kernel, a fetch or a pause is divided as the shares say, in their order; the last has what is left.
  void divide(const Piece& whole) {
    if (whole.owner.split == kNothing) {
      pieces_.push_back(whole);
      return;
    }
    const auto length = static_cast<double>((whole.end - whole.start).count());
    const std::vector<Share>& shares = owners_.splits[whole.owner.split];
    Ns from = whole.start;
    double weight = 0;
    for (const Share& share : shares) {
      weight += share.weight;
      const bool last = &share == &shares.back();
      const Ns until = last ? whole.end : std::min(whole.end, whole.start + Ns{static_cast<std::int64_t>(length * weight)});
      Piece part = whole;
      part.start = from;
      part.end = until;
      give(part, share, whole.node == kNoNode);
      if (whole.node == kNoNode) part.pause = whole.end - whole.start;
      if (part.end > part.start) pieces_.push_back(part);
      from = std::max(from, until);
    }
  }

  // To a part of a divided piece what it is a part of. Of a pause, code of the step's own has the stage that its neighbours share.
  static void give(Piece& part, const Share& share, bool pause) {
    Owner& owner = part.owner;
    if (!pause) {
      owner.call = share.call;
      owner.line = share.line;
      owner.made_line = share.made_line;
      return;
    }
    owner.split = kNothing;
    if (!share.stage) return;
    if (*share.stage == Stage::other) {
      owner.line = share.line;
    } else {
      owner = {.call = share.call, .line = share.line, .site = share.site, .stage = *share.stage, .known = true};
      part.bucket = bucket_of(owner);
    }
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
    if (owners_.calls.common(owner.one_of, parent.one_of) != parent.one_of) owner.one_of = parent.one_of;
    if (owners_.sites.common(owner.site, parent.site) != parent.site) owner.site = parent.site;
    if (owners_.lines.common(owner.line, parent.line) != parent.line) owner.line = parent.line;
    if (owners_.lines.common(owner.made_line, parent.made_line) != parent.made_line) owner.made_line = parent.made_line;
    return owner;
  }

  // A backward thread's time between two operators of one backward pass is backward, whatever it does there; its other free time is no
  // work of the step.
  void drop_idle() {
    std::erase_if(pieces_, [](const Piece& piece) { return piece.idle && piece.owner.stage != Stage::backward; });
  }

  const Forest& forest_;
  const Owners& owners_;
  const Waits& waits_;
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

// The work that can reach into each step: from the first item that ends after its start to the last that begins before its end.
void count_device(const Account& account, StepAccount& step) {
  Ns covered = step.window.start;
  for (const BusyPiece& piece : busy_pieces(account.work, account.reached, step.window.start, step.window.end)) {
    const Work& work = account.work[piece.work];
    const Ns time = piece.end - piece.start;
    if (piece.start > covered) step.gaps.push_back({covered, piece.start, piece.work});
    covered = piece.end;
    step.device_by_bucket[static_cast<std::size_t>(work.bucket)] += time;
    step.device += time;
    if (work.launched < step.span.start || work.launch == kNoNode) step.carried += time;
    if (!work.owner.communicates) continue;
    step.exposed_communication += time;
    if (work.bucket == Bucket::earlier_step) step.earlier_communication += time;
  }
  if (covered < step.window.end && !account.work.empty()) step.gaps.push_back({covered, step.window.end, kNoNode});
  const auto first = static_cast<std::size_t>(std::ranges::upper_bound(account.reached, step.window.start) - account.reached.begin());
  Ns communicated = step.window.start;
  for (std::size_t i = first; i < account.work.size() && account.work[i].start < step.window.end; ++i) {
    const Work& work = account.work[i];
    const Ns from = std::max(work.start, communicated), to = std::min(work.end, step.window.end);
    if (!work.owner.communicates || to <= from) continue;
    step.communication += to - from;
    communicated = to;
  }
}

// Every piece of work to the step that launched it.
void count_launched(Account& account, PlaceFinder& places) {
  std::vector<std::array<Ns, kStages>> reached(account.steps.size());
  for (auto& stages : reached) stages.fill(Ns::min());
  places.begin_thread();
  for (std::uint32_t i = 0; i < account.work.size(); ++i) {
    const Work& work = account.work[i];
    if (work.launch == kNoNode) continue;
    const auto at = std::ranges::upper_bound(account.steps, work.launched, {}, [](const StepAccount& step) { return step.span.end; });
    if (at == account.steps.end() || work.launched < at->span.start) continue;
    at->launched.push_back(i);
    const auto stage = static_cast<std::size_t>(work.owner.stage);
    Ns& covered = reached[static_cast<std::size_t>(at - account.steps.begin())][stage];
    const Ns begin = std::max(work.start, covered);
    if (work.end > begin) {
      at->device_by_stage[stage] += work.end - begin;
      if (const std::uint32_t place = places.of(work.owner, false); place != kNothing) at->by_place[place].device += work.end - begin;
      covered = work.end;
    }
  }
}

// From the first to the last event of the process that drives the steps.
Interval recorded_host(const Forest& forest, const Steps& steps) {
  Interval recorded{Ns::max(), Ns::min()};
  for (const Forest::Thread& thread : forest.threads) {
    if (steps.main == kNoNode || thread.process != forest.threads[steps.main].process) continue;
    recorded.start = std::min(recorded.start, forest.start[thread.begin]);
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) recorded.end = std::max(recorded.end, forest.end[node]);
  }
  return recorded;
}

// A step that goes on after the last event of the host does so because the device still works: that is what the host waits for.
void wait_after(std::vector<Piece>& wall, Ns end) {
  if (wall.empty() || wall.back().node != kNoNode || wall.back().end <= end) return;
  Piece tail = wall.back();
  tail.start = std::max(tail.start, end);
  tail.bucket = Bucket::waiting;
  tail.idle = false;
  wall.back().end = tail.start;
  if (wall.back().end <= wall.back().start) wall.pop_back();
  wall.push_back(tail);
}

// How long the main thread waits.
Ns waiting_of(const std::vector<Piece>& wall) {
  Ns sum{};
  for (const Piece& piece : wall) {
    if (piece.bucket == Bucket::waiting) sum += piece.end - piece.start;
  }
  return sum;
}

void count_behind(StepAccount& step) {
  step.wall_by_bucket[static_cast<std::size_t>(Bucket::waiting)] += step.behind;
  step.wall_by_stage[static_cast<std::size_t>(Stage::other)] += step.behind;
  step.waiting_by_stage[static_cast<std::size_t>(Stage::other)] += step.behind;
}

// Between operators; also between those that one calls: a custom function's code has lines of its own.
bool is_gap(const Forest& forest, const Piece& piece) {
  if (piece.node == kNoNode || (forest.kind[piece.node] != Kind::op && forest.kind[piece.node] != Kind::launch)) return true;
  return piece.node + 1 < forest.size() && forest.parent[piece.node + 1] == piece.node;
}

void count_cpu(const Forest& forest, const std::vector<Piece>& pieces, PlaceFinder& places, StepAccount& step) {
  places.begin_thread();
  for (const Piece& piece : pieces) {
    const Ns time = piece.end - piece.start;
    step.cpu_by_stage[static_cast<std::size_t>(piece.owner.stage)] += time;
    if (const std::uint32_t place = places.of(piece.owner, is_gap(forest, piece)); place != kNothing) step.by_place[place].cpu += time;
  }
}

void count_host(const Forest& forest, PlaceFinder& places, StepAccount& step) {
  places.begin_thread();
  Ns earlier = step.caught_up;
  for (const Piece& piece : step.wall) {
    const Ns of_earlier = piece.bucket == Bucket::waiting ? std::min(earlier, piece.end - piece.start) : Ns{};
    const Ns time = piece.end - piece.start - of_earlier;
    earlier -= of_earlier;
    if (const std::uint32_t place = places.of(piece.owner, is_gap(forest, piece)); place != kNothing) {
      step.by_place[place].wall += time;
      if (piece.bucket == Bucket::waiting) step.by_place[place].waiting += time;
    }
    if (places.guessed()) step.guessed_by_stage[static_cast<std::size_t>(piece.owner.stage)] += time;
    step.wall_by_bucket[static_cast<std::size_t>(piece.bucket)] += time;
    step.wall_by_stage[static_cast<std::size_t>(piece.owner.stage)] += time;
    if (piece.bucket == Bucket::waiting) step.waiting_by_stage[static_cast<std::size_t>(piece.owner.stage)] += time;
  }
}

}  // namespace

Account account(const trace::Trace& trace, const Forest& forest, const Steps& steps, const Owners& owners, const Places& places) {
  Account result;
  result.work = device_work(trace, forest, steps, owners);
  result.recorded = recorded_host(forest, steps);
  const Waits waits(trace, forest, result.work);
  for (const Work& work : result.work)
    result.reached.push_back(result.reached.empty() ? work.end : std::max(result.reached.back(), work.end));
  const std::vector<std::vector<std::uint32_t>> threads = threads_by_step(forest, steps);
  const std::vector<Interval> exchanges = result.work.empty() ? host_exchanges(trace, forest, steps) : std::vector<Interval>();
  PlaceFinder finder(places, owners.lines);
  std::vector<Ns> waiting;
  for (const StepSpan& span : steps.spans) {
    StepAccount step;
    step.by_place.resize(places.size());
    step.span = span;
    if (steps.main == kNoNode) {
      step.wall = {{span.start, span.end, Owner{}, Bucket::host}};
    } else {
      step.wall = Cutter(forest, owners, waits, span).cut(forest.threads[steps.main], true);
    }
    if (!result.work.empty()) wait_after(step.wall, result.recorded.end);
    count_cpu(forest, step.wall, finder, step);
    for (const std::uint32_t thread : threads[result.steps.size()]) {
      if (thread == steps.main) continue;
      std::vector<Piece> worker = Cutter(forest, owners, waits, span).cut(forest.threads[thread], false);
      drop_pauses(worker, step.wall);
      if (worker.empty()) continue;
      count_cpu(forest, worker, finder, step);
      step.workers.push_back(std::move(worker));
    }
    if (!step.workers.empty()) step.wall = overlaid(step.wall, step.workers);
    if (!exchanges.empty()) step.wall = with_waiting(step.wall, exchanges);
    waiting.push_back(waiting_of(step.wall));
    result.steps.push_back(std::move(step));
  }
  const std::vector<Interval> device = windows(steps.spans, result.work, waiting);
  for (std::size_t at = 0; at < result.steps.size(); ++at) {
    StepAccount& step = result.steps[at];
    step.window = device[at];
    const Ns longer = (step.window.end - step.window.start) - (step.span.end - step.span.start);
    step.behind = std::max(longer, Ns{});
    step.caught_up = std::max(-longer, Ns{});
    count_host(forest, finder, step);
    count_behind(step);
    count_device(result, step);
  }
  count_launched(result, finder);
  return result;
}

}  // namespace hotlens::attribution
