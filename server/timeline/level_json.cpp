// `hotlens/timeline/level`: columns of rectangles, texts told once.
#include <algorithm>

#include "annotator/profile/statistics.h"
#include "server/timeline/columns.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Block;
using blocks::Blocks;
using blocks::kStepBlock;
using features::LevelTrack;
using features::Rectangle;
using protocol::Answer;
using protocol::Json;

// A track of what is exposed and what is hidden.
Json overlap_track(const features::Overlap& overlap) {
  Json shown = track_json(features::shown(overlap));
  shown["exposed"] = overlap.exposed.count();
  shown["hidden"] = overlap.hidden.count();
  return shown;
}

// Starts and lengths.
Json waits(const LevelTrack& track) {
  Json start = Json::array(), duration = Json::array();
  for (const Rectangle& wait : track.waits) {
    start.push_back(wait.start.count());
    duration.push_back(wait.duration.count());
  }
  return {{"start", std::move(start)}, {"duration", std::move(duration)}};
}

// Where the blocks of a path are, of those that a person can hit: nothing of what is merged, thin or of another step.
Json ways(const Blocks& blocks, const features::PathRow& row, Ns pixel) {
  constexpr std::int64_t kHit = 4;  // pixels
  Json list = Json::array();
  for (const Rectangle& at : row.rectangles) {
    const bool one = at.count == 1 && at.block != blocks::kNoBlock && at.block != kStepBlock && at.duration >= kHit * pixel;
    const bool known = one && blocks.blocks[at.block].kind != Block::Kind::idle;  // what runs nothing has no level
    list.push_back(known ? Json(blocks::path_of(blocks, at.block)) : Json());
  }
  return list;
}

Json crumbs(const Blocks& blocks, std::uint32_t block) {
  Json list = Json::array(), path = Json::array();
  for (const std::uint32_t at : blocks::way_to(blocks, block)) {
    if (at != kStepBlock) path.push_back(blocks::segment_of(blocks, at));
    list.push_back({{"label", features::crumb_of(blocks, at)}, {"path", path}});
  }
  return list;
}

}  // namespace

Json block_json(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  Json json{{"label", blocks::label_of(blocks, block)}, {"kind", blocks::name(of.kind)},
            {"stage", blocks::colour_of(of)},           {"direction", static_cast<int>(of.direction)},
            {"path", blocks::path_of(blocks, block)},   {"start", of.first.count()},
            {"duration", (of.last - of.first).count()}, {"count", 1}};
  const std::uint32_t instance = of.kind == Block::Kind::fold ? of.id : block;
  if (blocks.blocks[instance].kind == Block::Kind::module) {
    const std::string& type = blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[instance].id]].class_name;
    if (!type.empty()) json["class"] = type.substr(0, 200);
  }
  if (of.kind != Block::Kind::fold) return json;
  std::vector<Ns> times;
  for (const std::uint32_t member : blocks::folded(blocks, block)) {
    times.push_back(of.device > Ns{} ? blocks.blocks[member].device : blocks.blocks[member].host);
  }
  const auto [least, most] = std::ranges::minmax(times);
  json["count"] = times.size();
  json["fold"] = {{"count", times.size()}, {"min", least.count()}, {"median", profile::median(times).count()}, {"max", most.count()}};
  return json;
}

Answer level(const Subject& subject, const protocol::Reader& params) {
  features::Window window{.width = params["width"].unsigned32()};
  if (const auto from = params.maybe("from")) window.from = Ns(from->integer());
  if (const auto to = params.maybe("to")) window.to = Ns(to->integer());
  if (const auto unfold = params.maybe("unfold")) window.unfold = unfold->boolean();
  if (auto error = params.error()) return std::unexpected(*error);
  const Blocks& blocks = *subject.blocks;
  const features::Level level = features::level(blocks, subject.block, window);
  Json tracks = Json::array();
  for (const LevelTrack& track : level.tracks) {
    Json shown = track_json(features::shown(blocks, track));
    if (!track.waits.empty()) shown["waits"] = waits(track);
    tracks.push_back(std::move(shown));
  }
  for (const features::Overlap& overlap : features::overlap_of(blocks, subject.block, level.window_from, level.window_to, level.pixel)) {
    tracks.push_back(overlap_track(overlap));
  }
  const features::PathRow path = features::path_row(blocks, subject.block, level.window_from, level.window_to, level.pixel);
  if (path.time > Ns{}) {
    tracks.push_back(track_json(features::shown(blocks, path)));
    tracks.back()["time"] = path.time.count();
    tracks.back()["ways"] = ways(blocks, path, level.pixel);
  }
  return Json{{"profile", subject.opened->id()},
              {"step", subject.step},
              {"path", blocks::path_of(blocks, subject.block)},
              {"crumbs", crumbs(blocks, subject.block)},
              {"block", block_json(blocks, subject.block)},
              {"extent", {level.from.count(), level.to.count()}},
              {"window", {level.window_from.count(), level.window_to.count()}},
              {"pixel", level.pixel.count()},
              {"tracks", std::move(tracks)},
              {"moreTracks", level.more_tracks}};
}

}  // namespace hotlens::timeline_requests
