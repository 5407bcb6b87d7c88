// `hotlens/timeline/level`: columns of rectangles, texts told once.
#include <algorithm>
#include <unordered_map>

#include "annotator/profile/statistics.h"
#include "server/features/timeline_level.h"
#include "server/features/timeline_overlap.h"
#include "server/timeline/columns.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Block;
using blocks::Blocks;
using blocks::kNoBlock;
using blocks::kStepBlock;
using features::LevelTrack;
using features::Rectangle;
using protocol::Answer;
using protocol::Json;

// Labels of one level: thousands of blocks share a name, and a kernel's takes work to shorten.
class Labels {
 public:
  explicit Labels(const Blocks& blocks) : blocks_(blocks) {}

  std::size_t at(std::uint32_t block) {
    if (block == kNoBlock) return texts_.at("device idle");
    const Block& of = blocks_.blocks[block];
    if (of.kind == Block::Kind::module || of.kind == Block::Kind::fold) return texts_.at(blocks::label_of(blocks_, block));
    const auto [entry, fresh] = known_.try_emplace(of.label, 0);
    if (fresh) entry->second = texts_.at(blocks::label_of(blocks_, block));
    return entry->second;
  }
  Json take() { return texts_.take(); }

 private:
  const Blocks& blocks_;
  Texts texts_;
  std::unordered_map<std::uint32_t, std::size_t> known_;  // by Block::label
};

// All time of the block on tracks of this kind, as its details say it.
Ns whole_time(const Blocks& blocks, const LevelTrack& track, std::uint32_t block) {
  const bool host = blocks.tracks[track.track].kind == blocks::BlockTrack::Kind::host;
  return host ? blocks.blocks[block].host : blocks.index.device[block];
}

Json columns(const Blocks& blocks, const LevelTrack& track) {
  Labels labels(blocks);
  Columns columns;
  for (const Rectangle& rectangle : track.rectangles) {
    const bool idle = rectangle.block == kNoBlock;
    const bool merged = rectangle.count > 1;
    static const Block kIdle{.kind = Block::Kind::idle};
    const Block& block = idle ? kIdle : blocks.blocks[rectangle.block];
    const bool selectable = !merged && block.kind != Block::Kind::idle;
    columns.add({.start = rectangle.start,
                 .duration = rectangle.duration,
                 .label = labels.at(rectangle.block),
                 .kind = merged ? "merged" : blocks::name(block.kind),
                 .stage = blocks::colour_of(block),
                 .direction = static_cast<int>(block.direction),
                 .count = merged ? rectangle.count : block.members,
                 .busy = rectangle.busy,
                 .whole = selectable ? whole_time(blocks, track, rectangle.block) : rectangle.busy,
                 .waiting = rectangle.waiting,
                 .spans = rectangle.spans,
                 .segment = selectable ? blocks::segment_of(blocks, rectangle.block) : std::string(),
                 .open = selectable && blocks.opens(rectangle.block)});
  }
  return columns.take(labels.take());
}

// A track of what is exposed and what is hidden.
Json overlap_track(const features::Overlap& overlap) {
  Texts labels;
  Columns columns;
  for (const Rectangle& rectangle : overlap.rectangles) {
    const bool exposed = rectangle.block == static_cast<std::uint32_t>(features::Overlap::Kind::exposed);
    columns.add({.start = rectangle.start,
                 .duration = rectangle.duration,
                 .label = labels.at(exposed ? "exposed" : "hidden"),
                 .kind = rectangle.count > 1 ? "merged"
                         : exposed           ? "exposed"
                                             : "hidden",
                 .stage = exposed ? "communication" : "hidden_communication",
                 .count = rectangle.count,
                 .busy = rectangle.busy,
                 .whole = rectangle.count > 1 ? rectangle.busy
                          : exposed           ? overlap.exposed
                                              : overlap.hidden,
                 .waiting = {},
                 .spans = rectangle.spans,
                 .segment = {},
                 .open = false});
  }
  return {{"id", "overlap " + overlap.device},
          {"kind", "overlap"},
          {"name", "GPU " + overlap.device.substr(0, 20) + " overlap"},
          {"busy", overlap.busy.count()},
          {"exposed", overlap.exposed.count()},
          {"hidden", overlap.hidden.count()},
          {"blocks", columns.take(labels.take())}};
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

std::string_view kind_of(blocks::BlockTrack::Kind kind) {
  switch (kind) {
    case blocks::BlockTrack::Kind::host:
      return "host";
    case blocks::BlockTrack::Kind::device:
      return "device";
    case blocks::BlockTrack::Kind::communication:
      return "communication";
  }
  return "";
}

Json crumbs(const Blocks& blocks, std::uint32_t block) {
  Json list = Json::array(), path = Json::array();
  for (const std::uint32_t at : blocks::way_to(blocks, block)) {
    if (at != kStepBlock) path.push_back(blocks::segment_of(blocks, at));
    const auto lifted = blocks.lifted.find(at);
    const std::string model = lifted == blocks.lifted.end() ? "" : " › " + blocks::label_of(blocks, lifted->second);
    list.push_back({{"label", blocks::label_of(blocks, at) + model}, {"path", path}});
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
    const blocks::BlockTrack& of = blocks.tracks[track.track];
    Json shown{
        {"id", of.id}, {"kind", kind_of(of.kind)}, {"name", of.name}, {"busy", track.busy.count()}, {"blocks", columns(blocks, track)}};
    if (!track.waits.empty()) shown["waits"] = waits(track);
    tracks.push_back(std::move(shown));
  }
  for (const features::Overlap& overlap : features::overlap_of(blocks, subject.block, level.window_from, level.window_to, level.pixel)) {
    tracks.push_back(overlap_track(overlap));
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
