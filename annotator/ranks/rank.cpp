#include "annotator/ranks/rank.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "annotator/profile/build/module_name.h"
#include "annotator/ranks/exchange.h"

namespace hotlens::ranks {
namespace {

using attribution::Piece;
using attribution::StepAccount;

constexpr Ns kBreak = std::chrono::microseconds(20);  // shorter ones are no time to wait in
constexpr int kSmallParts = 200;                      // of a step; what takes less is told of its stage alone

struct Segment {
  Ns start{}, end{};
  Doing doing;
  bool works = false;  // other than by exchanging with others, or waiting for them
};

// What a rank did, in order, each instant once: on a device what it ran, and while it idled what the host did. A host that is ahead is by
// then in the next step.
class Segments {
 public:
  explicit Segments(const profile::Annotated& annotated)
      : annotated_(annotated), steps_(annotated.account.steps), device_(!annotated.account.work.empty()) {}

  std::vector<Segment> list() && {
    if (!steps_.empty()) list_next(steps_.front());
    Ns reached = steps_.empty() ? Ns{} : steps_.front().window.start;
    for (const StepAccount& step : steps_) {
      if (step.window.start > reached) add({reached, step.window.start, {.between_steps = true}, false});
      device_ ? add_device(step.window) : add_host(step.window.start, step.window.end);
      reached = step.window.end;
    }
    return std::move(segments_);
  }

 private:
  void add(Segment segment) {
    if (segment.end > segment.start) segments_.push_back(segment);
  }

  // By piece in no stage: the stage that comes next.
  void list_next(const StepAccount& step) {
    next_.assign(step.wall.size(), Stage::other);
    Stage next = Stage::other;
    for (std::size_t at = step.wall.size(); at-- > 0;) {
      const Stage own = step.wall[at].owner.stage;
      if (own == Stage::other) next_[at] = next;
      if (own != Stage::other) next = own;
    }
  }

  std::uint32_t module_of(const attribution::Owner& owner) const {
    return owner.works_for_module() ? annotated_.owners.calls.value[owner.call] : kNothing;
  }

  void add_device(const Interval& window) {
    Ns reached = window.start;
    const auto& account = annotated_.account;
    for (const attribution::BusyPiece& piece : busy_pieces(account.work, account.reached, window.start, window.end)) {
      add_host(reached, piece.start);
      const attribution::Owner& owner = account.work[piece.work].owner;
      const bool works = !owner.communicates;
      const Doing doing{.stage = owner.stage, .module = works ? module_of(owner) : kNothing, .communicates = !works};
      add({piece.start, piece.end, doing, works});
      reached = piece.end;
    }
    add_host(reached, window.end);
  }

  // The host's pieces between two moments; these come in order of time.
  void add_host(Ns start, Ns end) {
    while (step_ < steps_.size()) {
      const StepAccount& step = steps_[step_];
      for (; host_ < step.wall.size() && step.wall[host_].start < end; ++host_) {
        const Piece& piece = step.wall[host_];
        const bool works = !device_ && !piece.idle && !piece.owner.communicates;
        add({std::max(piece.start, start), std::min(piece.end, end), doing(step, host_), works});
        if (piece.end > end) return;  // the rest of it comes later
      }
      if (host_ < step.wall.size()) return;
      host_ = 0;
      if (++step_ < steps_.size()) list_next(steps_[step_]);
    }
  }

  Doing doing(const StepAccount& step, std::size_t at) const {
    const Piece& piece = step.wall[at];
    Doing result{.stage = piece.owner.stage,
                 .next = next_[at],
                 .module = module_of(piece.owner),
                 .communicates = piece.owner.communicates && !device_};
    if (result.communicates) result.module = kNothing;
    const bool gap = piece.node == attribution::kNoNode || annotated_.forest.kind[piece.node] != attribution::Kind::op;
    if (!gap || result.communicates) return result;
    const bool last = at + 1 == step.wall.size();
    if (at > 0) result.after = neighbour(piece, step.wall[at - 1]);
    if (!last) result.before = neighbour(piece, step.wall[at + 1]);
    return result;
  }

  // The module of what stands beside host code, where that says more than the code's own.
  std::uint32_t neighbour(const Piece& gap, const Piece& beside) const {
    const std::uint32_t module = module_of(beside.owner);
    const bool says_more = beside.owner.stage == gap.owner.stage && module != module_of(gap.owner);
    return says_more && annotated_.owners.calls.is_inside(beside.owner.call, gap.owner.call) ? module : kNothing;
  }

  const profile::Annotated& annotated_;
  const std::vector<StepAccount>& steps_;
  bool device_;
  std::size_t step_ = 0, host_ = 0;  // where the host is: the step, and into its wall
  std::vector<Stage> next_;          // by piece of the step's wall
  std::vector<Segment> segments_;
};

std::vector<Ns> moments_of(const std::vector<Collective>& collectives) {
  std::vector<Ns> moments;
  for (const Collective& one : collectives) moments.insert(moments.end(), {one.start, one.end});
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());
  return moments;
}

// Adds up what was done in each interval. Small parts of a step lose their module, so that a record stays small.
std::vector<Spent> spent_of(const std::vector<Segment>& segments, const std::vector<Ns>& moments, Ns small) {
  std::vector<Spent> result;
  std::map<Doing, Ns> sums;
  std::uint32_t interval = 0;
  const auto close = [&] {
    std::map<Doing, Ns> rest;
    for (const auto& [doing, time] : sums) {
      if (time >= small) {
        result.push_back({interval, doing, time});
        continue;
      }
      Doing stage = doing;
      stage.module = stage.after = stage.before = kNothing;
      rest[stage] += time;
    }
    for (const auto& [doing, time] : rest) result.push_back({interval, doing, time});
    sums.clear();
  };
  for (const Segment& segment : segments) {
    for (Ns at = segment.start; at < segment.end;) {
      while (interval < moments.size() && moments[interval] <= at) {
        close();
        ++interval;
      }
      const Ns end = interval < moments.size() ? std::min(segment.end, moments[interval]) : segment.end;
      sums[segment.doing] += end - at;
      at = end;
    }
  }
  close();
  return result;
}

std::vector<Interval> busy_of(const std::vector<Segment>& segments) {
  std::vector<Interval> busy;
  for (const Segment& segment : segments) {
    if (!segment.works) continue;
    if (!busy.empty() && segment.start - busy.back().end < kBreak) {
      busy.back().end = std::max(busy.back().end, segment.end);
    } else {
      busy.push_back({segment.start, segment.end});
    }
  }
  return busy;
}

void move_to_epoch(RankRecord& record, Ns base) {
  for (RankStep& step : record.steps) step.start += base;
  for (Collective& one : record.collectives) one.start += base, one.end += base;
  for (Ns& moment : record.moments) moment += base;
  for (Interval& busy : record.busy) busy.start += base, busy.end += base;
}

}  // namespace

std::size_t RankRecord::interval_at(Ns when) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(moments, when) - moments.begin());
}

RankRecord record_of(const profile::Annotated& annotated, std::int64_t rank) {
  RankRecord record{.rank = rank,
                    .world_size = annotated.trace.recording.world_size,
                    .source = annotated.trace_file.filename().string(),
                    .has_device = !annotated.account.work.empty()};
  for (const StepAccount& step : annotated.account.steps) {
    record.steps.push_back({step.span.index, step.span.start, step.window.end - step.window.start});
  }
  record.collectives = collectives_of(annotated);
  for (profile::ModuleName& name : names_of_modules(annotated)) record.modules.push_back(name.path.empty() ? name.class_name : name.path);
  record.moments = moments_of(record.collectives);
  const std::vector<Segment> segments = Segments(annotated).list();
  Ns longest{};
  for (const RankStep& step : record.steps) longest = std::max(longest, step.wall);
  record.spent = spent_of(segments, record.moments, longest / kSmallParts);
  record.busy = busy_of(segments);
  move_to_epoch(record, annotated.trace.base);
  return record;
}

}  // namespace hotlens::ranks
