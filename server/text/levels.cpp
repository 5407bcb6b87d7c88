#include "server/text/levels.h"

#include <functional>
#include <span>

#include "annotator/common/format.h"
#include "server/text/words.h"

namespace hotlens::text {
namespace {

using blocks::Block;
using blocks::Blocks;
using features::ShownBlock;
using features::ShownTrack;
using format::readable;

// A piece lasts as long as what it stands for within one cell is busy, so between two of them there may be this many cells.
constexpr int kTogether = 2;
constexpr std::size_t kNameOnTheWay = 40;  // columns

bool continues(const ShownBlock& block, const ShownBlock& run, Ns pixel) {
  const bool same = !block.segment.empty() && block.segment == run.segment && block.label == run.label && block.kind == run.kind &&
                    block.stage == run.stage;
  return same && block.start - run.start - run.duration < kTogether * pixel;
}

// What was different in a step unlike the others.
std::string outlier(const profile::Step& step) {
  if (!step.outlier) return "";
  std::string text;
  for (const profile::Difference& each : step.differences) {
    const std::size_t blank = each.what.find(' ');
    const std::string name = each.what.substr(blank == std::string::npos ? 0 : blank + 1);
    text += (text.empty() ? ": " : ", ") + signed_time(each.excess) + " in " + (each.what.starts_with("module ") ? name : spaced(name));
  }
  return ", an outlier" + text;
}

// A step is drawn as long as its host takes; its device may go on.
std::string title_of_step(const Blocks& blocks, const profile::Step* step) {
  const Ns last = blocks.blocks[blocks::kStepBlock].last;
  return (step != nullptr ? "step " + std::to_string(step->index) : "step") + "  " + readable(blocks.takes) +
         (blocks.takes > blocks.wall ? ", the host done after " + readable(blocks.wall) : "") +
         (last > blocks.wall ? ", its device work until " + readable(last) : "") + (step != nullptr ? outlier(*step) : "");
}

// The model that a stage holds alone is named with the stage, also where it is the block itself.
std::string title_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  const std::vector<std::uint32_t> all = blocks::way_to(blocks, block);
  std::string way;
  for (const std::uint32_t at : std::span(all).subspan(1)) {
    const auto lifted = blocks.lifted.find(at);
    const bool told = lifted != blocks.lifted.end() && lifted->second == block;
    const std::string label = told ? blocks::label_of(blocks, at) : features::crumb_of(blocks, at);
    way += (way.empty() ? "" : " › ") + format::shortened(label, kNameOnTheWay);
  }
  return way + "  " + readable(of.last - of.first) + ", host " + readable(of.host) +
         (of.device > Ns{} ? ", device " + readable(of.device) : "");
}

std::vector<ShownTrack> tracks_of(const Blocks& blocks, const features::Level& level) {
  std::vector<ShownTrack> tracks;
  for (const features::LevelTrack& track : level.tracks) tracks.push_back(features::shown(blocks, track));
  for (const features::Overlap& overlap : features::overlap_of(blocks, level.block, level.window_from, level.window_to, level.pixel)) {
    tracks.push_back(features::shown(overlap));
  }
  return tracks;
}

ShownLevel joined(Moments extent, Moments window, Ns pixel, std::vector<ShownTrack> tracks, std::size_t width) {
  for (ShownTrack& track : tracks) track.blocks = runs_of(std::move(track.blocks), pixel);
  Axis axis = axis_of(tracks, window, width);
  return {.title = {}, .extent = extent, .axis = axis, .tracks = std::move(tracks)};
}

// A gap that is drawn short leaves more cells to the rest than it was looked at for: it is looked at once more.
ShownLevel fine(std::size_t width, const std::function<ShownLevel(std::uint32_t)>& look) {
  ShownLevel level = look(static_cast<std::uint32_t>(width));
  return level.axis.gap ? look(static_cast<std::uint32_t>(level.axis.fine_width())) : level;
}

template <class Time>
std::optional<Ns> of_zoom(const Looked& looked, Time time) {
  return looked.zoom ? std::optional(*looked.zoom.*time) : std::nullopt;
}

}  // namespace

std::vector<ShownBlock> runs_of(std::vector<ShownBlock> pieces, Ns pixel) {
  std::vector<ShownBlock> runs;
  for (ShownBlock& piece : pieces) {
    if (runs.empty() || !continues(piece, runs.back(), pixel)) {
      runs.push_back(std::move(piece));
      continue;
    }
    ShownBlock& run = runs.back();
    run.duration = piece.start + piece.duration - run.start;
    run.busy += piece.busy;
    run.waiting += piece.waiting;
    run.spans += piece.spans;
  }
  return runs;
}

ShownLevel level_of(const Blocks& blocks, std::uint32_t block, const profile::Step* step, const Looked& looked) {
  const auto from = of_zoom(looked, &Moments::from), to = of_zoom(looked, &Moments::to);
  std::size_t more = 0;
  ShownLevel shown = fine(looked.width, [&](std::uint32_t width) {
    const features::Level level = features::level(blocks, block, {.from = from, .to = to, .width = width, .unfold = looked.unfold});
    more = level.more_tracks;
    return joined({level.from, level.to}, {level.window_from, level.window_to}, level.pixel, tracks_of(blocks, level), looked.width);
  });
  shown.title = block == blocks::kStepBlock ? title_of_step(blocks, step) : title_of(blocks, block);
  shown.more_tracks = more;
  return shown;
}

ShownLevel level_of(const features::Recording& recording, const profile::Profile& profile, const Looked& looked) {
  const auto from = of_zoom(looked, &Moments::from), to = of_zoom(looked, &Moments::to);
  ShownLevel shown = fine(looked.width, [&](std::uint32_t width) {
    const features::RecordingView view = features::look(recording, from, to, width);
    std::vector<ShownTrack> tracks;
    for (const features::RecordingView::Track& track : view.tracks) tracks.push_back(features::shown(recording, track, profile));
    return joined({{}, recording.length}, {view.from, view.to}, view.pixel, std::move(tracks), looked.width);
  });
  shown.title = "recording  " + readable(recording.length);
  return shown;
}

}  // namespace hotlens::text
