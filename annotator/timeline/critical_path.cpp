#include "annotator/timeline/critical_path.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace hotlens::timeline {
namespace {

using On = PathPart::On;

// Work that starts later than this after its launch on a free stream waited for something else than the launch, which takes some 10 µs.
constexpr Ns kLaunchLatency = std::chrono::microseconds(50);

class Walk {
 public:
  Walk(const Account& account, const StepAccount& step) : work_(account.work), step_(step), now_(step.span.end) {
    collect(account.reached);
  }

  std::vector<PathPart> run() && {
    std::uint32_t at = last_launched();
    if (at != kNoNode) now_ = work_[at].end;
    // Every round consumes time or moves to earlier work; the bound holds whatever the clocks of a trace say.
    const std::size_t bound = 4 * (step_.wall.size() + by_end_.size()) + 16;
    for (std::size_t round = 0; now_ > step_.span.start && round < bound; ++round) at = at == kNoNode ? follow_host() : follow_device(at);
    while (now_ > step_.span.start) take_piece(piece_before(now_));
    std::ranges::reverse(parts_);
    return std::move(parts_);
  }

 private:
  // The work that may lie on the path, and for each the work before it on its stream.
  void collect(const std::vector<Ns>& reached) {
    first_ = static_cast<std::uint32_t>(std::ranges::upper_bound(reached, step_.span.start) - reached.begin());
    auto last = static_cast<std::uint32_t>(std::ranges::lower_bound(work_, step_.span.end, {}, &Work::start) - work_.begin());
    if (!step_.launched.empty()) last = std::max(last, step_.launched.back() + 1);
    last = std::max(last, first_);
    std::unordered_map<std::uint32_t, std::uint32_t> on_stream;
    before_.assign(last - first_, kNoNode);
    by_end_.resize(last - first_);
    std::iota(by_end_.begin(), by_end_.end(), first_);
    for (const std::uint32_t i : by_end_) {
      const auto [stream, fresh] = on_stream.try_emplace(work_[i].stream.index, i);
      if (!fresh) before_[i - first_] = std::exchange(stream->second, i);
    }
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t i) { return work_[i].end; });
  }

  // The launched work that ends last, where that is after the host's end.
  std::uint32_t last_launched() const {
    std::uint32_t latest = kNoNode;
    for (const std::uint32_t i : step_.launched) {
      if (work_[i].end > (latest == kNoNode ? step_.span.end : work_[latest].end)) latest = i;
    }
    return latest;
  }

  // The work that ends last within (after, until] and began before `until`; kNoNode where there is none.
  std::uint32_t ending_within(Ns after, Ns until) const {
    auto at = std::ranges::upper_bound(by_end_, until, {}, [&](std::uint32_t i) { return work_[i].end; });
    while (at != by_end_.begin() && work_[*--at].end > after) {
      if (work_[*at].start < until) return *at;
    }
    return kNoNode;
  }

  // Every part begins where the path goes on; what lies outside the step is walked but not kept.
  void take(Ns from, On on, std::uint32_t at) {
    const Ns start = std::max(from, step_.span.start);
    const Ns end = std::min(now_, step_.span.end);
    if (start < end) parts_.push_back({start, end, on, at});
    now_ = std::min(now_, from);
  }

  std::uint32_t follow_device(std::uint32_t at) {
    const Work& work = work_[at];
    take(work.start, On::device, at);
    const std::uint32_t before = before_[at - first_];
    const Ns free = before == kNoNode ? Ns::min() : work_[before].end;
    const bool known = work.launch != kNoNode;
    const Ns launched = known ? std::min(work.launched, work.start) : step_.span.start;
    const Ns ready = std::max(free, launched);
    const std::uint32_t other = work.start - ready > kLaunchLatency || !known ? ending_within(ready, work.start) : kNoNode;
    if (other != kNoNode) {
      take(work_[other].end, On::queue, at);
      return other;
    }
    if (free >= launched) {
      take(free, On::queue, at);
      return before;
    }
    take(launched, known ? On::latency : On::queue, at);
    return kNoNode;
  }

  std::uint32_t follow_host() {
    const std::uint32_t piece = piece_before(now_);
    if (step_.wall[piece].bucket == Bucket::waiting) {
      if (const std::uint32_t release = ending_within(step_.wall[piece].start, now_); release != kNoNode) {
        take(work_[release].end, On::host, piece);
        return release;
      }
    }
    take_piece(piece);
    return kNoNode;
  }

  std::uint32_t piece_before(Ns time) const {
    const auto at = std::ranges::lower_bound(step_.wall, time, {}, &Piece::start);
    return static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(at - step_.wall.begin() - 1, 0));
  }

  void take_piece(std::uint32_t piece) { take(step_.wall[piece].start, On::host, piece); }

  const std::vector<Work>& work_;
  const StepAccount& step_;
  Ns now_;
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> before_;  // by work, from first_ on
  std::vector<std::uint32_t> by_end_;
  std::vector<PathPart> parts_;
};

}  // namespace

std::vector<PathPart> critical_path(const Account& account, const StepAccount& step) {
  if (step.wall.empty()) return {};
  return Walk(account, step).run();
}

}  // namespace hotlens::timeline
