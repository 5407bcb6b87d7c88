#include "server/features/timeline/counters.h"

#include <algorithm>
#include <utility>

#include "annotator/costs/launches.h"

namespace hotlens::features {

Counter::Peak Counter::peak() const {
  Peak peak{.time = Ns{}, .value = before};
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] > peak.value) peak = {time[at], value[at]};
  }
  return peak;
}

double Counter::mean() const {
  if (length <= Ns{}) return 0;
  double sum = 0;
  Ns from{};
  std::int64_t held = before;
  for (std::size_t at = 0; at <= time.size(); ++at) {
    const Ns until = at < time.size() ? time[at] : length;
    sum += static_cast<double>(held) * static_cast<double>((until - from).count());
    from = until;
    if (at < time.size()) held = value[at];
  }
  return sum / static_cast<double>(length.count());
}

Counter memory_counter(const profile::HeldOverTime& held, Ns length) {
  return {.time = held.time, .value = held.bytes, .before = held.before, .length = length};
}

std::optional<Counter> queue_counter(const attribution::Account& account, std::size_t step) {
  const attribution::StepAccount& of = account.steps[step];
  if (of.launched.empty() || of.span.end <= of.span.start) return std::nullopt;
  std::vector<std::pair<Ns, std::int64_t>> changes;
  for (const attribution::Interval& wait : costs::queued_work(account, of.span)) {
    changes.emplace_back(wait.start - of.span.start, 1);
    changes.emplace_back(wait.end - of.span.start, -1);
  }
  std::ranges::sort(changes);
  Counter counter{.time = {}, .value = {}, .before = 0, .length = of.span.end - of.span.start};
  std::int64_t queued = 0;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    queued += changes[at].second;
    if (at + 1 < changes.size() && changes[at + 1].first == changes[at].first) continue;
    counter.time.push_back(changes[at].first);
    counter.value.push_back(queued);
  }
  return counter;
}

CounterView look(const Counter& counter, Ns from, Ns to, Ns pixel) {
  CounterView view;
  std::int64_t held = counter.before;
  const auto put = [&](Ns start, std::int64_t least, std::int64_t most) {
    view.start.push_back(start);
    view.least.push_back(least);
    view.most.push_back(most);
  };
  auto at = static_cast<std::size_t>(std::ranges::upper_bound(counter.time, from) - counter.time.begin());
  if (at > 0) held = counter.value[at - 1];
  put(from, held, held);
  while (at < counter.time.size() && counter.time[at] < to) {
    const Ns start = counter.time[at], until = start + pixel;
    held = counter.value[at];
    std::int64_t least = held, most = held;
    for (++at; at < counter.time.size() && counter.time[at] < std::min(until, to); ++at) {
      held = counter.value[at];
      least = std::min(least, held);
      most = std::max(most, held);
    }
    put(start, least, most);
    if (least != most && until < to) put(until, held, held);
  }
  return view;
}

}  // namespace hotlens::features
