// What a recording would have taken if some of its work were shorter: its schedule, played again (as Daydream, ATC 2020, does).
//
// The main thread runs its pieces one after the other. Work begins when it is launched, its stream is free and what it waited for has
// ended; a host that waits goes on when the work that released it ends. Every delay that this does not explain stays as it was, so that an
// unchanged recording takes exactly its time. What a change makes possible beyond that (another order, work of two streams at once) is not
// seen, nor what it would cost to make it: a gain told so is the most that the change can give.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/causes/work_order.h"
#include "annotator/profile/profile.h"

namespace hotlens::causes {

// Empty functions change nothing.
struct Change {
  std::function<double(const attribution::Work&)> work;     // how much of its duration stays, as a fraction
  std::function<double(const attribution::Piece&)> host;    // the same of host time that is no waiting
  std::function<bool(const attribution::Piece&)> unwaited;  // waiting that no longer takes place
};

// From the begin of the first step to the end of the last one and of the work that the steps launched.
struct Played {
  Ns recorded{}, changed{};
  double ratio() const;  // 1 for a recording that takes no time
};

// What waits for what, found once and played with as many changes as are asked about.
class Schedule {
 public:
  // `account` must outlive this. Cost: O(work log work) of all steps.
  explicit Schedule(const attribution::Account& account);

  // Cost: O(pieces + work log pieces).
  Played play(const Change& change) const;

 private:
  const attribution::Account& account_;
  WorkOrder order_;
  std::vector<WorkOrder::Needs> needs_;  // by work
};

// The step with all kernels, and with all of the host's own time, at half: what it is sensitive to.
profile::Sensitivity sensitivity(const Schedule& schedule);

// With communication that nobody waits for, and without any; hidden it still takes its time. `exchanges`: of a host without device work
// (annotator/attribution/account/exchanges.h). Nullopt where the steps communicate nothing.
std::optional<profile::CommunicationSensitivity> communication_sensitivity(const attribution::Account& account, const Schedule& schedule,
                                                                           std::span<const attribution::Interval> exchanges);

}  // namespace hotlens::causes
