#include "annotator/trace/plausible.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "annotator/common/format.h"

namespace hotlens::trace {
namespace {

// Nobody records a training that stands still for an hour; clocks that jump do so by days.
constexpr Ns kPause = std::chrono::hours(1);
constexpr std::size_t kFewOf = 100;      // one event in so many may be wrong
constexpr std::size_t kLeastOthers = 3;  // fewer tell nothing

// Nearer than that, one event alone, so many times as far from all others as these are from one another: what runs ends while something
// else is still recorded, be it the end of the recording. That nothing happens before the first event or after the last is no wonder.
constexpr std::int64_t kTimesAllEnd = 20, kTimesAllStart = 1000;
constexpr Ns kFarEnd = std::chrono::seconds(1), kFarStart = std::chrono::seconds(10);
constexpr int kMostAlone = 3;

// A kernel that is overrun by others of its stream: small overlaps are real (graphs, launches that depend on one another). Where many lie
// over others, the rows of this kind of device are nested, and only what is far longer than its neighbours is wrong.
constexpr Ns kLongWork = std::chrono::milliseconds(1);
constexpr std::int64_t kTimesMean = 20;
constexpr std::size_t kOverrun = 2;                         // whole pieces of other launches inside one
constexpr Ns kClockJitter = std::chrono::microseconds(10);  // what begins so near its end may have begun after it

constexpr std::size_t kLongestName = 60;  // bytes

struct Axis {
  Ns from{}, until{};  // of starts
};

// Divided, since `times * extent` may be more than a number holds.
bool far(Ns distance, Ns least, Ns extent, std::int64_t times) {
  return distance >= least && distance / times >= extent;
}

class Filter {
 public:
  Filter(Trace& trace, Issues& issues) : trace_(trace), events_(trace.events), issues_(issues), left_out_(events_.size(), false) {}

  void run() {
    if (events_.size() <= kLeastOthers) return;
    if (const std::optional<Axis> axis = axis_of_most()) leave_out_far(*axis);
    for (int i = 0; i < kMostAlone && leave_out_alone(); ++i) {
    }
    if (!trace_.recording.legacy) leave_out_overruns();
    if (count_ == 0) return;
    issues_.add("implausible-time", sentence(), static_cast<std::int64_t>(count_));
    erase();
  }

 private:
  // Where most events start, where that is not everywhere or some end far behind it.
  std::optional<Axis> axis_of_most() const {
    const auto [first, last] = std::ranges::minmax(events_.start);
    Ns end = Ns::min();
    for (std::size_t event = 0; event < events_.size(); ++event) end = std::max(end, events_.end(event));
    if (end - first < kPause) return std::nullopt;
    std::vector<Ns> starts = events_.start;
    std::ranges::sort(starts);
    const std::size_t few = std::max<std::size_t>(1, starts.size() / kFewOf);
    std::size_t from = 0, until = starts.size();
    for (std::size_t at = 1; at <= few && at < starts.size(); ++at) {
      if (starts[at] - starts[at - 1] >= kPause) from = at;
    }
    for (std::size_t at = 1; at <= few && at < starts.size(); ++at) {
      if (starts[starts.size() - at] - starts[starts.size() - at - 1] >= kPause) until = starts.size() - at;
    }
    if (until < from + kLeastOthers) return std::nullopt;
    return Axis{starts[from], starts[until - 1]};
  }

  void leave_out_far(Axis axis) {
    const auto endless = [&](std::uint32_t event) { return events_.end(event) - axis.until >= kPause; };
    std::size_t many = 0;
    for (std::uint32_t event = 0; event < events_.size(); ++event) many += endless(event);
    const bool few = many <= std::max<std::size_t>(1, events_.size() / kFewOf);
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      const Ns start = events_.start[event];
      if (start < axis.from) {
        leave_out(event, "starts " + format::readable(axis.from - start) + " before the others");
      } else if (start > axis.until) {
        leave_out(event, "starts " + format::readable(start - axis.until) + " after the others");
      } else if (few && endless(event)) {
        leave_out(event, "lasts " + format::readable(events_.duration[event]));
      }
    }
    MemoryEvents& memory = trace_.memory;
    std::size_t kept = 0;
    for (std::size_t row = 0; row < memory.size(); ++row) {
      if (memory.time[row] <= axis.from - kPause || memory.time[row] >= axis.until + kPause) continue;
      move_row(kept++, row, memory.thread, memory.time, memory.address, memory.bytes, memory.device_type, memory.device,
               memory.total_allocated, memory.total_reserved);
    }
    resize_rows(kept, memory.thread, memory.time, memory.address, memory.bytes, memory.device_type, memory.device, memory.total_allocated,
                memory.total_reserved);
  }

  // An event and the distance to the next of its kind.
  struct Extreme {
    Ns value{}, next{};
    std::uint32_t event = 0;

    void add(Ns other, std::uint32_t of) {
      if (other > value) {
        next = std::exchange(value, other);
        event = of;
      } else {
        next = std::max(next, other);
      }
    }
  };

  // The one that ends, or starts, alone; false where there is none.
  bool leave_out_alone() {
    constexpr Extreme kNone{Ns::min(), Ns::min(), 0};
    Extreme end = kNone, start = kNone, before = kNone;  // `before`: of starts, from the last to the first
    std::size_t others = 0;
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (left_out_[event]) continue;
      end.add(events_.end(event), event);
      start.add(events_.start[event], event);
      before.add(-events_.start[event], event);
      ++others;
    }
    if (others <= kLeastOthers) return false;
    const Ns late = end.value - end.next, early = before.value - before.next, extent = end.next + before.value;
    const Ns later = start.value - std::max(start.next, end.next);
    if (start.event == end.event && far(later, kFarStart, extent, kTimesAllStart)) {
      leave_out(start.event, "starts " + format::readable(later) + " after the others");
    } else if (start.event != end.event && far(late, kFarEnd, extent, kTimesAllEnd)) {
      leave_out(end.event, "lasts " + format::readable(events_.duration[end.event]) + ", longer than all others were recorded");
    } else if (far(early, kFarStart, end.value + before.next, kTimesAllStart)) {
      leave_out(before.event, "starts " + format::readable(early) + " before the others");
    } else {
      return false;
    }
    return true;
  }

  struct Stream {
    Ns sum{};
    std::int64_t count = 0;
    std::vector<std::uint32_t> events, suspects;
  };

  void leave_out_overruns() {
    std::unordered_map<std::uint32_t, Stream> streams;
    bool any = false;
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (!on_device(events_.category[event]) || left_out_[event]) continue;
      Stream& stream = streams[events_.thread[event].index];
      stream.sum += events_.duration[event];
      ++stream.count;
      if (events_.duration[event] < kLongWork) continue;
      stream.suspects.push_back(event);
      any = true;
    }
    if (!any) return;
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (!on_device(events_.category[event]) || left_out_[event]) continue;
      Stream& stream = streams[events_.thread[event].index];
      if (!stream.suspects.empty()) stream.events.push_back(event);
    }
    for (auto& [thread, stream] : streams) judge(stream);
  }

  void judge(Stream& stream) {
    std::ranges::stable_sort(stream.events, {}, [&](std::uint32_t event) { return events_.start[event]; });
    std::erase_if(stream.suspects, [&](std::uint32_t suspect) { return !overruns(stream, suspect); });
    const bool nested = stream.suspects.size() > std::max<std::size_t>(1, stream.events.size() / kFewOf);
    for (const std::uint32_t suspect : stream.suspects) {
      const Ns others = (stream.sum - events_.duration[suspect]) / std::max<std::int64_t>(1, stream.count - 1);
      if (nested && events_.duration[suspect] / kTimesMean < others) continue;
      leave_out(suspect, "lasts " + format::readable(events_.duration[suspect]) + ", over other work of its own stream");
    }
  }

  bool overruns(const Stream& stream, std::uint32_t suspect) const {
    const Ns end = events_.end(suspect);
    auto at =
        std::ranges::upper_bound(stream.events, events_.start[suspect], {}, [&](std::uint32_t event) { return events_.start[event]; });
    std::size_t inside = 0;
    for (; at != stream.events.end() && events_.start[*at] < end - kClockJitter && inside < kOverrun; ++at) {
      const bool other_launch = events_.correlation[*at] != events_.correlation[suspect] || events_.correlation[*at] == kNone;
      inside += other_launch && events_.end(*at) <= end;
    }
    return inside == kOverrun;
  }

  void leave_out(std::uint32_t event, std::string why) {
    if (left_out_[event]) return;
    left_out_[event] = true;
    if (count_++ > 0) return;
    first_ = event;
    why_ = std::move(why);
  }

  std::string sentence() const {
    std::string name(trace_.names[events_.name[first_]]);
    if (name.size() > kLongestName) name = name.substr(0, kLongestName) + "…";
    const std::string others = count_ > 1 ? " and others were" : " was";
    return "\"" + name + "\" (event " + std::to_string(events_.index[first_]) + ") " + why_ + ", which cannot be: it" + others +
           " left out";
  }

  template <class... Columns>
  static void move_row(std::size_t to, std::size_t from, Columns&... columns) {
    ((columns[to] = columns[from]), ...);
  }
  template <class... Columns>
  static void resize_rows(std::size_t size, Columns&... columns) {
    (columns.resize(size), ...);
  }

  void erase() {
    std::vector<std::uint32_t> place(events_.size());
    std::uint32_t kept = 0;
    for (std::uint32_t event = 0; event < left_out_.size(); ++event) {
      place[event] = kept;
      if (left_out_[event]) continue;
      move_row(kept++, event, events_.name, events_.category, events_.thread, events_.start, events_.duration, events_.correlation,
               events_.sequence, events_.forward_thread, events_.index);
    }
    resize_rows(kept, events_.name, events_.category, events_.thread, events_.start, events_.duration, events_.correlation,
                events_.sequence, events_.forward_thread, events_.index);
    Inputs& inputs = trace_.inputs;
    erase_rows(place, inputs.event, inputs.shapes, inputs.types, inputs.values);
    erase_rows(place, trace_.transfers.event, trace_.transfers.bytes);
    Messages& messages = trace_.messages;
    erase_rows(place, messages.event, messages.operation, messages.type, messages.in, messages.out, messages.group, messages.ranks,
               messages.group_size, messages.sequence);
  }

  // Of a table beside the events. `place`: by event, its new number.
  template <class... Columns>
  void erase_rows(const std::vector<std::uint32_t>& place, std::vector<std::uint32_t>& event, Columns&... columns) {
    std::size_t row = 0;
    for (std::size_t at = 0; at < event.size(); ++at) {
      if (left_out_[event[at]]) continue;
      move_row(row, at, event, columns...);
      event[row] = place[event[row]];
      ++row;
    }
    resize_rows(row, event, columns...);
  }

  Trace& trace_;
  Events& events_;
  Issues& issues_;
  std::vector<bool> left_out_;
  std::size_t count_ = 0;
  std::uint32_t first_ = 0;
  std::string why_;
};

}  // namespace

void leave_out_implausible(Trace& trace, Issues& issues) {
  Filter(trace, issues).run();
}

}  // namespace hotlens::trace
