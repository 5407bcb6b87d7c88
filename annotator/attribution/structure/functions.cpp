#include "annotator/attribution/structure/functions.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "annotator/trace/python_frame.h"

namespace hotlens::attribution {
namespace {

constexpr std::size_t kDeepest = 1000;  // where Python stops; a trace may hold anything

// Goes through frames in order of their starts and notes who is innermost.
class Walk {
 public:
  Walk(const trace::Events& events, Ns from) : events_(events), reached_(from) {}

  void enter(std::uint32_t frame, Ns to) {
    close(std::min(events_.start[frame], to));
    if (open_.size() >= kDeepest) return;
    result_.calls.push_back({.caller = innermost(), .function = events_.name[frame]});
    open_.push_back({frame, static_cast<std::uint32_t>(result_.calls.size() - 1)});
  }

  Functions finish(Ns to) && {
    close(to);
    return std::move(result_);
  }

 private:
  struct Open {
    std::uint32_t frame, call;
  };

  std::uint32_t innermost() const { return open_.empty() ? kNoNode : open_.back().call; }

  void run_until(Ns when) {
    if (when > reached_) result_.runs.push_back({reached_, when, innermost()});
    reached_ = std::max(reached_, when);
  }

  // Frames that have ended by then give way to those around them.
  void close(Ns when) {
    while (!open_.empty() && events_.end(open_.back().frame) <= when) {
      run_until(events_.end(open_.back().frame));
      open_.pop_back();
    }
    run_until(when);
  }

  const trace::Events& events_;
  Ns reached_;
  std::vector<Open> open_;
  Functions result_;
};

}  // namespace

Functions functions_of(const trace::Trace& trace, trace::ThreadId thread, Ns from, Ns to) {
  const trace::Events& events = trace.events;
  std::vector<std::optional<bool>> own(trace.names.size());
  const auto is_own = [&](trace::NameId name) {
    std::optional<bool>& known = own[name.index];
    if (!known) {
      const auto frame = trace::frame_named(trace.names[name]);
      known = frame && trace::is_own_file(frame->path);
    }
    return *known;
  };
  std::vector<std::uint32_t> frames;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != trace::Category::python || events.thread[event] != thread) continue;
    if (events.start[event] < to && events.end(event) > from && is_own(events.name[event])) frames.push_back(event);
  }
  std::ranges::sort(frames, {}, [&](std::uint32_t frame) { return std::tuple(events.start[frame], -events.duration[frame], frame); });
  Walk walk(events, from);
  for (const std::uint32_t frame : frames) walk.enter(frame, to);
  return std::move(walk).finish(to);
}

}  // namespace hotlens::attribution
