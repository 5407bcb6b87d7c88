// What changes over a step and is no work: how much memory is held, how much work is queued for the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/profile/build/held_over_time.h"

namespace hotlens::features {

// `value[i]` from `time[i]` on, `before` until the first.
struct Counter {
  std::vector<Ns> time;  // after the start of the step, ascending
  std::vector<std::int64_t> value;
  std::int64_t before = 0;
  Ns length{};  // of the step

  struct Peak {
    Ns time{};
    std::int64_t value = 0;
  };
  Peak peak() const;  // the first moment of the largest value
  double mean() const;
};

Counter memory_counter(const profile::HeldOverTime& held, Ns length);
// Work that is launched and does not run yet (annotator/costs/launches.h); nothing for a step without device work.
std::optional<Counter> queue_counter(const attribution::Account& account, std::size_t step);

// Stretches of a window, each until the next begins. Changes within one pixel are one stretch as long as the pixel, with the least and the
// most of it. Of every other stretch the two are equal.
struct CounterView {
  std::vector<Ns> start;  // the first is the window's start
  std::vector<std::int64_t> least, most;
};
// At most two stretches a pixel.
CounterView look(const Counter& counter, Ns from, Ns to, Ns pixel);

}  // namespace hotlens::features
