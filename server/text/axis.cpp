#include "server/text/axis.h"

#include <algorithm>
#include <cmath>

namespace hotlens::text {
namespace {

using features::ShownBlock;
using features::ShownTrack;

constexpr double kLeastGap = 0.3;  // of the window: shorter gaps are drawn as long as they are

double ns(Ns time) {
  return static_cast<double>(time.count());
}

// Idle time of a host track is the level's own; that of a device is not.
std::vector<Moments> work_of(const std::vector<ShownTrack>& tracks) {
  std::vector<Moments> work;
  for (const ShownTrack& track : tracks) {
    for (const ShownBlock& block : track.blocks) {
      if (block.kind != "idle" || track.kind == "host") work.push_back({block.start, block.start + block.duration});
    }
  }
  std::ranges::sort(work, {}, &Moments::from);
  return work;
}

// The longest time in which nothing of the level happens.
std::optional<Moments> gap_of(const std::vector<ShownTrack>& tracks, Moments window) {
  std::optional<Moments> gap;
  double longest = kLeastGap * ns(window.length());
  Ns reached = window.from;
  for (const Moments& work : work_of(tracks)) {
    if (ns(work.from - reached) > longest) {
      gap = {reached, work.from};
      longest = ns(gap->length());
    }
    reached = std::max(reached, work.to);
  }
  return gap;
}

}  // namespace

double Axis::per_cell() const {
  const double whole = std::max(1.0, ns(window.length()));
  if (!gap) return whole / static_cast<double>(width);
  return std::max(1.0, whole - ns(gap->length())) / static_cast<double>(width - kGapCells);
}

double Axis::position(Ns at) const {
  if (!gap || at <= gap->from) return ns(at - window.from) / per_cell();
  if (at >= gap->to) return static_cast<double>(width) - ns(window.to - at) / per_cell();
  return ns(gap->from - window.from) / per_cell() + ns(at - gap->from) / ns(gap->length()) * kGapCells;
}

Ns Axis::time_at(double cell) const {
  const auto rounded = [](double time) { return Ns(std::llround(time)); };
  const double first = gap ? ns(gap->from - window.from) / per_cell() : 0;
  if (!gap || cell <= first) return window.from + rounded(cell * per_cell());
  if (cell >= first + kGapCells) return window.to - rounded((static_cast<double>(width) - cell) * per_cell());
  return gap->from + rounded((cell - first) / kGapCells * ns(gap->length()));
}

Cells Axis::cells(Moments stretch) const {
  const auto cell = [this](Ns at) { return std::lround(std::clamp(position(at), 0.0, static_cast<double>(width))); };
  const std::size_t first = std::min(static_cast<std::size_t>(cell(stretch.from)), width - 1);
  return {first, std::max(static_cast<std::size_t>(cell(stretch.to)), first + 1)};
}

std::size_t Axis::fine_width() const {
  return static_cast<std::size_t>(std::ceil(std::min(ns(window.length()) / per_cell(), double{features::kMaxWidth})));
}

Axis axis_of(const std::vector<ShownTrack>& tracks, Moments window, std::size_t width) {
  const auto gap = gap_of(tracks, window);
  const auto cells = static_cast<double>(width);
  const bool shortened = gap && width > 2 * kGapCells && ns(gap->length()) / ns(window.length()) * cells > kGapCells;
  return {.window = window, .width = width, .gap = shortened ? gap : std::nullopt};
}

}  // namespace hotlens::text
