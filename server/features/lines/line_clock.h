// What a line of the training loop costs per update, as the clocks of its statements saw it without a profiler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/profile/loop.h"
#include "annotator/profile/profile.h"

namespace hotlens::features {

struct LineClock {
  Ns per_update{};                       // mean over all updates watched
  double share = 0;                      // of their time
  Ns each{};                             // in an update in which it runs
  std::int64_t in_updates = 0;           // of the statement that took longest, as `every`
  std::int64_t of_updates = 0;           // those that they are counted of
  std::int64_t in_watched = 0;           // the updates that `per_update` is the mean of
  std::optional<profile::Spread> usual;  // of that statement, in each of them
  std::optional<double> every;           // updates from one execution to the next
  std::string kind;                      // of that statement: "for"
  Ns startup{};                          // until the first update was complete
  bool rare = false;                     // in less than every second update
};

// Of statements of one line, by their rows in Loop::statements; nothing of none.
std::optional<LineClock> clock_of(const profile::Loop& loop, const std::vector<std::uint32_t>& rows);

// Of the `for` that asks the step's loader for batches a part: lines that its workers run. Nothing where no such statement was timed.
std::optional<LineClock> clock_of_fetch(const profile::Profile& profile, double part);

// How often the next item was asked for is no number of executions: it is one more than what the loop's lines say.
bool counts_requests(const LineClock& clock);

}  // namespace hotlens::features
