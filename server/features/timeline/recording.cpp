#include "server/features/timeline/recording.h"

#include <algorithm>
#include <map>

#include "annotator/attribution/account/exchanges.h"

namespace hotlens::features {
namespace {

using attribution::Forest;
using attribution::kNoNode;
using attribution::kNothing;
using attribution::Piece;
using attribution::Stage;
using attribution::StepSpan;
using attribution::Work;
using profile::Annotated;
using PortionKind = Portion::Kind;

class Builder {
 public:
  explicit Builder(const Annotated& annotated) : annotated_(annotated), steps_(annotated.steps.spans) {
    for (const attribution::StepAccount& step : annotated.account.steps) windows_.push_back(step.window);
    find_extent();
  }

  Recording take() && {
    result_.start = from_;
    result_.length = to_ - from_;
    result_.tracks.push_back({.kind = RecordingTrack::Kind::steps, .id = "steps", .name = "steps"});
    add_steps(result_.tracks.back());
    if (annotated_.steps.main != kNoNode) {
      result_.tracks.push_back({.kind = RecordingTrack::Kind::host, .id = "main", .name = "CPU main"});
      add_host(result_.tracks.back());
    }
    add_devices();
    add_communication();
    return std::move(result_);
  }

 private:
  void find_extent() {
    from_ = steps_.empty() ? Ns{} : steps_.front().start;
    to_ = steps_.empty() ? Ns{} : steps_.back().end;
    const auto hold = [&](Ns start, Ns end) {
      from_ = std::min(from_, start);
      to_ = std::max(to_, end);
    };
    if (annotated_.steps.main != kNoNode) {
      const Forest& forest = annotated_.forest;
      const Forest::Thread& main = forest.threads[annotated_.steps.main];
      for (std::uint32_t node = main.begin; node < main.end; node = after_descendants(forest, node, main.end)) {
        hold(forest.start[node], forest.end[node]);
      }
    }
    for (const Work& work : annotated_.account.work) hold(work.start, work.end);
  }

  // The step in which a moment lies; kNothing outside all.
  template <class Span>
  static std::uint32_t step_at(Ns when, const std::vector<Span>& steps) {
    const auto next = std::ranges::upper_bound(steps, when, {}, &Span::start);
    if (next == steps.begin() || std::prev(next)->end <= when) return kNothing;
    return static_cast<std::uint32_t>(std::prev(next) - steps.begin());
  }

  std::uint32_t number_of(const Portion& part) {
    const auto [known, fresh] = numbers_.try_emplace(part, static_cast<std::uint32_t>(result_.parts.size()));
    if (fresh) result_.parts.push_back(part);
    return known->second;
  }

  // Neighbours of one part that touch are one stretch.
  void add(RecordingTrack& track, const Portion& part, Ns start, Ns end) {
    if (end <= start) return;
    const std::uint32_t number = number_of(part);
    std::vector<Stretch>& all = track.stretches;
    if (!all.empty() && all.back().part == number && all.back().end == start - from_) {
      all.back().end = end - from_;
    } else {
      all.push_back({start - from_, end - from_, number});
    }
  }

  void add_steps(RecordingTrack& track) {
    Ns reached = from_;
    for (std::uint32_t step = 0; step < windows_.size(); ++step) {
      const auto& [start, end] = windows_[step];
      add(track, {.kind = step == 0 ? PortionKind::before : PortionKind::between}, reached, start);
      add(track, {.kind = PortionKind::step, .step = step}, start, end);
      reached = end;
    }
    add(track, {.kind = PortionKind::after}, reached, to_);
  }

  void add_host(RecordingTrack& track) {
    Ns reached = from_;
    for (std::uint32_t step = 0; step < steps_.size(); ++step) {
      add_outside(track, reached, steps_[step].start);
      for (const Piece& piece : annotated_.account.steps[step].wall) {
        const bool waits = piece.bucket == profile::Bucket::waiting;
        if (piece.owner.stage == Stage::other && piece.idle) continue;
        const bool exchanges = piece.bucket == profile::Bucket::communication && piece.node == kNoNode;
        const PortionKind kind = waits ? PortionKind::waiting : exchanges ? PortionKind::communication : PortionKind::stage;
        add(track, {.kind = kind, .stage = piece.owner.stage, .step = step}, piece.start, piece.end);
      }
      reached = steps_[step].end;
    }
    add_outside(track, reached, to_);
  }

  // Operators and launches of the main thread that no step holds.
  void add_outside(RecordingTrack& track, Ns from, Ns to) {
    const Forest& forest = annotated_.forest;
    const Forest::Thread& main = forest.threads[annotated_.steps.main];
    for (std::uint32_t node = first_from(forest, main, from); node < main.end && forest.start[node] < to;) {
      const bool works = forest.kind[node] == attribution::Kind::op || forest.kind[node] == attribution::Kind::launch;
      if (works)
        add(track, {.kind = PortionKind::outside, .stage = annotated_.owners.of[node].stage}, forest.start[node],
            std::min(to, forest.end[node]));
      node = works ? after_descendants(forest, node, main.end) : node + 1;
    }
  }

  Portion portion_of(const Work& work) const {
    if (work.launch == kNoNode) return {.kind = PortionKind::earlier, .step = step_at(work.start, windows_)};
    const std::uint32_t step = step_at(work.launched, steps_);
    return {.kind = step == kNothing ? PortionKind::outside : PortionKind::stage, .stage = work.owner.stage, .step = step};
  }

  // A track for each device: where its streams overlap, the work that began first has the time.
  void add_devices() {
    std::map<std::string, RecordingTrack> devices;
    for (const Work& work : annotated_.account.work) {
      const std::string& device = annotated_.trace.threads[work.stream.index].process;
      const auto [track, fresh] = devices.try_emplace(device);
      if (fresh) track->second = {.kind = RecordingTrack::Kind::device, .id = "d" + device, .name = "GPU " + device.substr(0, 20)};
      const std::vector<Stretch>& drawn = track->second.stretches;
      const Ns covered = drawn.empty() ? work.start : std::max(work.start, drawn.back().end + from_);
      add(track->second, portion_of(work), covered, work.end);
    }
    for (auto& [name, track] : devices) result_.tracks.push_back(std::move(track));
  }

  // When one device, or the process without one, exchanges, and when it does anything else.
  struct Exchanging {
    std::vector<attribution::Interval> exchanges, other;  // by start, without overlap
  };

  static void extend(std::vector<attribution::Interval>& all, Ns start, Ns end) {
    if (end <= start) return;
    if (all.empty() || start > all.back().end) {
      all.push_back({start, end});
    } else {
      all.back().end = std::max(all.back().end, end);
    }
  }

  // By device; of a run without device work one without a name, whose main thread does something else unless it waits.
  std::map<std::string, Exchanging> exchanging() const {
    std::map<std::string, Exchanging> all;
    for (const Work& work : annotated_.account.work) {
      Exchanging& device = all[annotated_.trace.threads[work.stream.index].process];
      extend(work.owner.communicates ? device.exchanges : device.other, work.start, work.end);
    }
    if (!all.empty()) return all;
    Exchanging& host = all[""];
    host.exchanges = attribution::host_exchanges(annotated_.trace, annotated_.forest, annotated_.steps);
    Ns reached = Ns::min();
    for (const attribution::StepAccount& step : annotated_.account.steps) {
      for (const Piece& piece : step.wall) {
        if (piece.bucket != profile::Bucket::communication) continue;
        extend(host.other, reached, piece.start);
        reached = piece.end;
      }
    }
    extend(host.other, reached, Ns::max());
    return all;
  }

  // Below all others, as on a level: when each device communicates, and what of that nothing hides.
  void add_communication() {
    for (const auto& [device, times] : exchanging()) {
      if (times.exchanges.empty()) continue;
      const std::string name = device.empty() ? "CPU" : "GPU " + device.substr(0, 20);
      RecordingTrack all{.kind = RecordingTrack::Kind::communication, .id = "c" + device, .name = name + " communication"};
      RecordingTrack overlap{.kind = RecordingTrack::Kind::overlap, .id = "overlap " + device, .name = name + " overlap"};
      for (const attribution::Interval& each : times.exchanges) {
        const Ns start = std::max(each.start, from_), end = std::min(each.end, to_);
        add(all, {.kind = PortionKind::communication, .step = step_at(start, windows_)}, start, end);
        divide(overlap, start, end, times.other);
      }
      result_.tracks.push_back(std::move(all));
      result_.tracks.push_back(std::move(overlap));
    }
  }

  void divide(RecordingTrack& track, Ns start, Ns end, const std::vector<attribution::Interval>& other) {
    auto beside = std::ranges::upper_bound(other, start, {}, &attribution::Interval::end);
    for (; start < end && beside != other.end() && beside->start < end; ++beside) {
      add(track, {.kind = PortionKind::exposed}, start, beside->start);
      add(track, {.kind = PortionKind::hidden}, std::max(start, beside->start), std::min(end, beside->end));
      start = beside->end;
    }
    add(track, {.kind = PortionKind::exposed}, start, end);
  }

  const Annotated& annotated_;
  const std::vector<StepSpan>& steps_;          // of the host
  std::vector<attribution::Interval> windows_;  // of the device, where the host is ahead of it
  Ns from_{}, to_{};
  Recording result_;
  std::map<Portion, std::uint32_t> numbers_;
};

bool is_work(PortionKind kind) {
  return kind != PortionKind::before && kind != PortionKind::between && kind != PortionKind::after;
}

RecordingView::Track drawn(const Recording& recording, std::size_t at, Ns from, Ns to, Ns pixel) {
  Painter painter(from, to, pixel);
  const std::vector<Stretch>& all = recording.tracks[at].stretches;
  auto stretch = std::ranges::upper_bound(all, from, {}, &Stretch::end);
  for (; stretch != all.end() && stretch->start < to; ++stretch) {
    painter.add(stretch->part, stretch->start, stretch->end, !is_work(recording.parts[stretch->part].kind));
  }
  return {.track = at, .busy = painter.busy(), .rectangles = painter.take()};
}

}  // namespace

Recording recording_of(const Annotated& annotated) {
  return Builder(annotated).take();
}

RecordingView look(const Recording& recording, std::optional<Ns> from, std::optional<Ns> to, std::uint32_t width) {
  const Ns length = std::max(recording.length, Ns(1));
  RecordingView view;
  view.from = std::clamp(from.value_or(Ns{}), Ns{}, length - Ns(1));
  view.to = std::clamp(to.value_or(length), view.from + Ns(1), length);
  Ns pixel = std::max(Ns(1), (view.to - view.from) / std::clamp(width, 1U, kMaxWidth));
  for (;;) {
    std::size_t rectangles = 0;
    view.tracks.clear();
    for (std::size_t track = 0; track < recording.tracks.size(); ++track) {
      view.tracks.push_back(drawn(recording, track, view.from, view.to, pixel));
      rectangles += view.tracks.back().rectangles.size();
    }
    view.pixel = pixel;
    if (rectangles <= kMaxRectangles) return view;
    pixel *= static_cast<std::int64_t>(std::max<std::size_t>(2, rectangles / kMaxRectangles));
  }
}

}  // namespace hotlens::features
