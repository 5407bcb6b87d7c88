#include "server/features/timeline/threads.h"

#include <algorithm>
#include <array>

#include "server/features/timeline/painter.h"

namespace hotlens::features {
namespace {

using blocks::Blocks;
using trace::Category;

// Pixels of the step at which rows are kept beside their events. A fineness that merges little is left out.
constexpr std::array<std::int64_t, 5> kWidths{32768, 8192, 2048, 512, 128};
constexpr std::size_t kMerges = 2;  // times fewer bars than the next finer one

bool on_host(Category category) {
  switch (category) {
    case Category::cpu_op:
    case Category::annotation:
    case Category::runtime:
    case Category::driver:
    case Category::python:
      return true;
    default:
      return false;
  }
}

// The step's own range says nothing within the step, and begins inside a function of the profiler.
constexpr std::string_view kStep = "ProfilerStep#";

// The step's own time on the host.
struct ThreadWindow {
  Ns start{}, end{};

  bool holds(const trace::Events& events, std::uint32_t event) const {
    return on_host(events.category[event]) && events.start[event] < end && events.end(event) > start;
  }
};

ThreadWindow window_of(const Blocks& blocks) {
  return {blocks.start, blocks.start + blocks.wall};
}

// Outer events before those inside them.
std::vector<std::uint32_t> events_of(const trace::Trace& trace, trace::ThreadId thread, const ThreadWindow& window) {
  const trace::Events& events = trace.events;
  std::vector<std::uint32_t> found;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.thread[event] != thread || !window.holds(events, event)) continue;
    if (!trace.names[events.name[event]].starts_with(kStep)) found.push_back(event);
  }
  std::ranges::stable_sort(found, {}, [&](std::uint32_t event) { return std::pair(events.start[event], -events.duration[event]); });
  return found;
}

// Events by how many lie around them. Ranges may cross functions instead of nesting: what outlasts its caller keeps its row until it ends.
std::vector<std::vector<std::uint32_t>> nested(const trace::Events& events, const std::vector<std::uint32_t>& ordered) {
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<Ns> open;  // ends
  for (const std::uint32_t event : ordered) {
    while (!open.empty() && open.back() <= events.start[event]) open.pop_back();
    if (rows.size() == open.size()) rows.emplace_back();
    rows[open.size()].push_back(event);
    open.push_back(events.end(event));
  }
  return rows;
}

std::vector<Bar> painted(const std::vector<Bar>& bars, Ns wall, Ns pixel) {
  Painter painter(Ns{}, wall, pixel);
  for (const Bar& bar : bars) painter.add(bar.event, bar.start, bar.start + bar.duration, false);
  std::vector<Bar> merged;
  for (const Rectangle& each : painter.take()) merged.push_back({each.start, each.duration, each.block, each.count});
  return merged;
}

FlameRow row_of(const trace::Events& events, const std::vector<std::uint32_t>& row, const ThreadWindow& window) {
  std::vector<Bar> bars;
  bars.reserve(row.size());
  for (const std::uint32_t event : row) {
    const Ns start = std::max(events.start[event], window.start);
    bars.push_back({start - window.start, std::min(events.end(event), window.end) - start, event});
  }
  FlameRow result;
  result.finenesses.push_back({Ns{}, std::move(bars)});
  const Ns wall = window.end - window.start;
  for (const std::int64_t width : kWidths) {
    const Ns pixel = std::max(Ns(1), wall / width);
    std::vector<Bar> merged = painted(result.finenesses.front().bars, wall, pixel);
    if (merged.size() * kMerges <= result.finenesses.back().bars.size()) result.finenesses.push_back({pixel, std::move(merged)});
  }
  return result;
}

Flame flame_of(const Blocks& blocks, trace::ThreadId thread) {
  const trace::Events& events = blocks.annotated->trace.events;
  const ThreadWindow window = window_of(blocks);
  std::vector<std::vector<std::uint32_t>> rows = nested(events, events_of(blocks.annotated->trace, thread, window));
  Flame flame;
  const auto is_outer = [&](const std::vector<std::uint32_t>& row) {
    return row.size() == 1 && events.start[row.front()] <= window.start && events.end(row.front()) >= window.end;
  };
  while (flame.outer.size() < rows.size() && is_outer(rows[flame.outer.size()])) flame.outer.push_back(rows[flame.outer.size()].front());
  for (std::size_t row = flame.outer.size(); row < rows.size(); ++row) {
    if (flame.rows.size() < kMaxFlameRows) {
      flame.rows.push_back(row_of(events, rows[row], window));
    } else {
      flame.deeper += rows[row].size();
    }
  }
  return flame;
}

std::string name_of(const Blocks& blocks, trace::ThreadId thread, const std::string& id) {
  const auto track = std::ranges::find(blocks.tracks, id, &blocks::BlockTrack::id);
  if (track != blocks.tracks.end()) return track->name;
  return "CPU thread " + blocks.annotated->trace.threads[thread.index].id.substr(0, 40);
}

// The bars that reach into the window: since they do not overlap, both edges are ordered.
std::pair<std::size_t, std::size_t> seen(const std::vector<Bar>& bars, Ns from, Ns to) {
  const auto begin = std::ranges::upper_bound(bars, from, {}, [](const Bar& bar) { return bar.start + bar.duration; });
  const auto end = std::ranges::lower_bound(bars, to, {}, &Bar::start);
  return {static_cast<std::size_t>(begin - bars.begin()), static_cast<std::size_t>(std::max(begin, end) - bars.begin())};
}

// The coarsest that is no coarser than a pixel.
const std::vector<Bar>& fine_enough(const FlameRow& row, Ns pixel) {
  const auto coarser = std::ranges::find_if(row.finenesses, [&](const FlameRow::Fineness& each) { return each.pixel > pixel; });
  return std::prev(coarser)->bars;
}

std::size_t bars_of(const std::vector<const Flame*>& flames, Ns from, Ns to, Ns pixel, std::size_t rows) {
  std::size_t bars = 0;
  for (const Flame* flame : flames) {
    for (std::size_t row = 0; row < std::min(rows, flame->rows.size()); ++row) {
      const auto [begin, end] = seen(fine_enough(flame->rows[row], pixel), from, to);
      bars += end - begin;
    }
  }
  return bars;
}

}  // namespace

HostThreads threads_of(const std::shared_ptr<const Blocks>& blocks) {
  const profile::Annotated& annotated = *blocks->annotated;
  const trace::Events& events = annotated.trace.events;
  const ThreadWindow window = window_of(*blocks);
  std::vector<std::pair<std::size_t, std::size_t>> counts(annotated.trace.threads.size());  // frames, others
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (!window.holds(events, event)) continue;
    auto& [frames, others] = counts[events.thread[event].index];
    ++(events.category[event] == Category::python ? frames : others);
  }
  const trace::ThreadId main =
      annotated.steps.main == attribution::kNoNode ? trace::ThreadId{} : annotated.forest.threads[annotated.steps.main].id;
  std::vector<trace::ThreadId> busy;
  for (std::uint32_t index = 0; index < counts.size(); ++index) {
    if (counts[index] != std::pair<std::size_t, std::size_t>{}) busy.push_back(trace::ThreadId{index});
  }
  std::ranges::stable_sort(busy, std::ranges::greater{}, [&](trace::ThreadId thread) {
    const auto [frames, others] = counts[thread.index];
    return std::pair(thread == main, frames + others);
  });
  HostThreads result;
  result.more = busy.size() - std::min(busy.size(), kMaxThreads);
  busy.resize(busy.size() - result.more);
  for (const trace::ThreadId thread : busy) {
    const auto [frames, others] = counts[thread.index];
    std::string id = thread == main ? "main" : "t" + std::to_string(thread.index);
    std::string name = name_of(*blocks, thread, id);
    result.threads.push_back({.id = std::move(id),
                              .name = std::move(name),
                              .frames = frames,
                              .others = others,
                              .flame = std::async(std::launch::deferred, [blocks, thread] { return flame_of(*blocks, thread); })});
  }
  return result;
}

std::vector<FlameView> look(const std::vector<const Flame*>& flames, Ns from, Ns to, Ns pixel) {
  std::size_t rows = kMaxFlameRows;
  const Ns coarsest = std::max(pixel, to - from);
  while (pixel < coarsest && bars_of(flames, from, to, pixel, rows) > kMaxBars) pixel *= 2;
  while (rows > 1 && bars_of(flames, from, to, pixel, rows) > kMaxBars) --rows;
  std::vector<FlameView> views;
  for (const Flame* flame : flames) {
    FlameView view{.rows = {}, .deeper = flame->deeper};
    for (std::size_t row = 0; row < flame->rows.size(); ++row) {
      if (row >= rows) {
        view.deeper += flame->rows[row].finenesses.front().bars.size();
        continue;
      }
      const std::vector<Bar>& bars = fine_enough(flame->rows[row], pixel);
      const auto [begin, end] = seen(bars, from, to);
      view.rows.emplace_back(bars.begin() + static_cast<std::ptrdiff_t>(begin), bars.begin() + static_cast<std::ptrdiff_t>(end));
    }
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace hotlens::features
