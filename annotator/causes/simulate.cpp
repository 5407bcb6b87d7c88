#include "annotator/causes/simulate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hotlens::causes {
namespace {

using attribution::kNoNode;
using attribution::Piece;
using attribution::StepAccount;
using attribution::Work;

Ns scaled(Ns time, double by) {
  return by == 1 ? time : Ns{std::llround(static_cast<double>(time.count()) * by)};
}

class Player {
 public:
  Player(const attribution::Account& account, const WorkOrder& order, const std::vector<WorkOrder::Needs>& needs, const Change& change)
      : account_(account), work_(account.work), order_(order), needs_(needs), change_(change), ended_(work_.size()) {}

  Played run() {
    const Ns begin = account_.steps.front().span.start;
    Ns recorded = begin;
    now_ = begin;
    for (const StepAccount& step : account_.steps) {
      if (step.span.start > recorded) play(recorded, step.span.start, nullptr);  // between two steps
      for (const Piece& piece : step.wall) play(piece.start, piece.end, &piece);
      recorded = std::max(recorded, step.span.end);
    }
    while (next_ < work_.size()) place(next_++);
    Ns last = recorded, last_changed = now_;
    for (const StepAccount& step : account_.steps) {
      for (const std::uint32_t i : step.launched) {
        last = std::max(last, work_[i].end);
        last_changed = std::max(last_changed, ended_[i]);
      }
    }
    return {last - begin, last_changed - begin};
  }

 private:
  // Host time as it was and as it is now.
  struct Part {
    Ns start{}, now{};
    double stays = 1;
  };

  void play(Ns start, Ns end, const Piece* piece) {
    const bool waits = piece && piece->bucket == attribution::Bucket::waiting;
    const double stays = piece && !waits && change_.host ? change_.host(*piece) : 1;
    if (stays != 1 || parts_.empty() || !goes_on(parts_.back(), start)) parts_.push_back({start, now_, stays});
    while (next_ < work_.size() && work_[next_].start < end) place(next_++);
    if (!waits) {
      now_ += scaled(end - start, stays);
      return;
    }
    const std::uint32_t release = order_.ending_within(start, end);
    const Ns after = release == kNoNode ? end - start : end - work_[release].end;  // what the wait takes beyond its work
    if (change_.unwaited && change_.unwaited(*piece)) {
      now_ += release == kNoNode ? Ns{} : std::min(after, end - start);
    } else if (release == kNoNode) {
      now_ += after;
    } else {
      now_ = std::max(now_, ended_[release]) + after;
    }
  }

  // Unchanged time behind unchanged time needs no part of its own.
  bool goes_on(const Part& part, Ns start) const { return part.stays == 1 && now_ - part.now == start - part.start; }

  Ns host_at(Ns time) const {
    const auto after = std::ranges::upper_bound(parts_, time, {}, &Part::start);
    if (after == parts_.begin()) return time;
    const Part& part = *(after - 1);
    return part.now + scaled(time - part.start, part.stays);
  }

  // When it ends now. Work that stands before in the list is placed already.
  void place(std::uint32_t i) {
    const Work& work = work_[i];
    const WorkOrder::Needs& needs = needs_[i];
    Ns was = Ns::min(), is = Ns::min();
    const auto after = [&](Ns then, Ns now) {
      was = std::max(was, then);
      is = std::max(is, now);
    };
    if (needs.before != kNoNode) after(needs.free, ended_[needs.before]);
    if (needs.launch_known) after(needs.launched, host_at(needs.launched));
    if (needs.other != kNoNode && needs.other < i) after(work_[needs.other].end, ended_[needs.other]);
    const Ns start = was == Ns::min() ? work.start : is + (work.start - was);
    ended_[i] = start + scaled(work.end - work.start, change_.work ? change_.work(work) : 1);
  }

  const attribution::Account& account_;
  const std::vector<Work>& work_;
  const WorkOrder& order_;
  const std::vector<WorkOrder::Needs>& needs_;
  const Change& change_;
  std::vector<Ns> ended_;  // by work
  std::vector<Part> parts_;
  std::uint32_t next_ = 0;  // work to be placed
  Ns now_{};
};

// How long communication ran from the begin of the first step to the end of the last one.
Ns communication(const attribution::Account& account, std::span<const attribution::Interval> exchanges) {
  if (account.steps.empty()) return {};
  std::vector<attribution::Interval> all;
  for (const Work& work : account.work) {
    if (work.owner.communicates) all.push_back({work.start, work.end});
  }
  const std::vector<attribution::Interval> on_device = attribution::merged(all);
  return attribution::within(account.work.empty() ? exchanges : on_device, account.steps.front().span.start, account.steps.back().span.end);
}

}  // namespace

double Played::ratio() const {
  return recorded > Ns{} ? static_cast<double>(changed.count()) / static_cast<double>(recorded.count()) : 1;
}

Schedule::Schedule(const attribution::Account& account) : account_(account), order_(account.work, 0) {
  needs_.reserve(account.work.size());
  for (std::uint32_t i = 0; i < account.work.size(); ++i) needs_.push_back(order_.needs(i, Ns::min()));
}

Played Schedule::play(const Change& change) const {
  return account_.steps.empty() ? Played{} : Player(account_, order_, needs_, change).run();
}

profile::Sensitivity sensitivity(const Schedule& schedule) {
  const Change kernels{.work = [](const Work&) { return 0.5; }, .host = {}, .unwaited = {}};
  const Change host{.work = {}, .host = [](const Piece&) { return 0.5; }, .unwaited = {}};
  return {.kernels = schedule.play(kernels).ratio(), .host = schedule.play(host).ratio()};
}

std::optional<profile::CommunicationSensitivity> communication_sensitivity(const attribution::Account& account, const Schedule& schedule,
                                                                           std::span<const attribution::Interval> exchanges) {
  const Ns time = communication(account, exchanges);
  if (time <= Ns{}) return std::nullopt;
  const auto no_work = [](const Work& work) { return work.owner.communicates ? 0.0 : 1.0; };
  const auto no_piece = [](const Piece& piece) { return piece.owner.communicates ? 0.0 : 1.0; };
  const Played without = schedule.play({.work = no_work, .host = no_piece, .unwaited = {}});
  // A host that launches communication goes on doing so. Without device work its pieces are the waiting for it.
  const Played beside = account.work.empty() ? without : schedule.play({.work = no_work, .host = {}, .unwaited = {}});
  const Played hidden{.recorded = beside.recorded, .changed = std::max(beside.changed, time)};
  return profile::CommunicationSensitivity{.hidden = std::min(hidden.ratio(), 1.0), .without = without.ratio()};
}

}  // namespace hotlens::causes
