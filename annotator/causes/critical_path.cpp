#include "annotator/causes/critical_path.h"

#include <algorithm>
#include <utility>

#include "annotator/causes/work_order.h"

namespace hotlens::causes {
namespace {

using attribution::Bucket;
using attribution::kLaunchLatency;
using attribution::kNoNode;
using attribution::Piece;
using attribution::Work;
using On = PathPart::On;

class Walk {
 public:
  Walk(const attribution::Account& account, attribution::Interval wanted)
      : work_(account.work),
        steps_(account.steps),
        wanted_(wanted),
        now_(steps_.back().span.end),
        order_(work_, static_cast<std::uint32_t>(std::ranges::upper_bound(account.reached, wanted_.start) - account.reached.begin())) {}

  std::vector<PathPart> run() && {
    std::uint32_t at = last_launched();
    if (at != kNoNode) now_ = work_[at].end;
    // Every round consumes time or moves to earlier work; the bound holds whatever the clocks of a trace say.
    std::size_t bound = 4 * order_.size() + 16;
    for (const attribution::StepAccount& step : steps_) bound += 4 * step.wall.size();
    for (std::size_t round = 0; now_ > wanted_.start && round < bound; ++round) at = at == kNoNode ? follow_host() : follow_device(at);
    while (now_ > wanted_.start) take_piece(host_before(now_));
    std::ranges::reverse(parts_);
    return std::move(parts_);
  }

 private:
  struct HostTime {
    const Piece* piece = nullptr;  // null between two steps
    Ns start{};
  };

  // The work with which the last step ends, where the host is ahead. Else the step's own that ends last, where the host did not go on after
  // it: a window may end with its work.
  std::uint32_t last_launched() const {
    const attribution::StepAccount& last = steps_.back();
    if (last.window.end > last.span.end) return order_.ending_within(last.span.end, last.window.end);
    std::uint32_t latest = kNoNode;
    for (const std::uint32_t i : steps_.back().launched) {
      if (i >= order_.first() && work_[i].end >= now_ && (latest == kNoNode || work_[i].end > work_[latest].end)) latest = i;
    }
    return latest;
  }

  // Every part begins where the path goes on; what lies outside the step is walked but not kept.
  void take(Ns from, On on, std::uint32_t at, const Piece* piece = nullptr) {
    const Ns start = std::max(from, wanted_.start);
    const Ns end = std::min(now_, wanted_.end);
    if (start < end) parts_.push_back({start, end, on, at, piece});
    now_ = std::min(now_, from);
  }

  std::uint32_t follow_device(std::uint32_t at) {
    const Work& work = work_[at];
    take(work.start, On::device, at);
    const WorkOrder::Needs needs = order_.needs(at, wanted_.start);
    if (needs.other != kNoNode) {
      take(work_[needs.other].end, On::queue, at);
      return needs.other;
    }
    if (needs.free >= needs.launched) {
      take(needs.free, On::queue, at);
      return needs.before;
    }
    const bool known = needs.launch_known;
    const Ns launched = needs.launched;
    if (known && work.start - work.queued > kLaunchLatency) take(std::max(work.queued, launched), On::queue, at);
    take(launched, known ? On::latency : On::queue, at);
    return kNoNode;
  }

  std::uint32_t follow_host() {
    const HostTime host = host_before(now_);
    if (host.piece && host.piece->bucket == Bucket::waiting) {
      if (const std::uint32_t release = order_.ending_within(host.start, now_); release != kNoNode) {
        take(work_[release].end, On::host, 0, host.piece);
        return release;
      }
    }
    take_piece(host);
    return kNoNode;
  }

  // What the main thread did right before `time`.
  HostTime host_before(Ns time) const {
    const auto after = std::ranges::lower_bound(steps_, time, {}, [](const attribution::StepAccount& step) { return step.span.start; });
    if (after == steps_.begin()) return {nullptr, wanted_.start};
    const attribution::StepAccount& step = *(after - 1);
    if (time > step.span.end || step.wall.empty()) return {nullptr, std::min(step.span.end, time - Ns{1})};
    const auto next = std::ranges::lower_bound(step.wall, time, {}, &Piece::start);
    const auto at = std::max<std::ptrdiff_t>(next - step.wall.begin() - 1, 0);
    return {&step.wall[static_cast<std::size_t>(at)], step.wall[static_cast<std::size_t>(at)].start};
  }

  void take_piece(const HostTime& host) { take(host.start, On::host, 0, host.piece); }

  const std::vector<Work>& work_;
  const std::vector<attribution::StepAccount>& steps_;
  attribution::Interval wanted_;
  Ns now_;
  WorkOrder order_;
  std::vector<PathPart> parts_;
};

}  // namespace

std::vector<PathPart> critical_path(const attribution::Account& account, std::size_t step) {
  return Walk(account, account.steps[step].window).run();
}

std::vector<PathPart> critical_path_of_all(const attribution::Account& account) {
  if (account.steps.empty()) return {};
  return Walk(account, {account.steps.front().window.start, account.steps.back().window.end}).run();
}

std::string_view name_of(const PathPart& part, const trace::Trace& trace, const attribution::Forest& forest,
                         const attribution::Account& account) {
  if (part.on != On::host) return trace.names[trace.events.name[account.work[part.at].event]];
  if (part.piece == nullptr || part.piece->node == kNoNode) return {};
  return trace.names[trace.events.name[forest.event[part.piece->node]]];
}

std::string_view word(PathPart::On on) {
  switch (on) {
    case On::host:
      return "host";
    case On::device:
      return "device";
    case On::latency:
      return "launch";
    case On::queue:
      return "queue";
  }
  return "";
}

}  // namespace hotlens::causes
