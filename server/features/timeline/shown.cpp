#include "server/features/timeline/shown.h"

namespace hotlens::features {
namespace {

using blocks::Block;
using blocks::Blocks;
using blocks::BlockTrack;
using blocks::kNoBlock;
using profile::Profile;
using Part = Portion::Kind;

// Labels of one track: thousands of blocks share a name, and a kernel's takes work to shorten.
class Labels {
 public:
  explicit Labels(const Blocks& blocks) : blocks_(blocks) {}

  std::uint32_t at(std::uint32_t block) {
    if (block == kNoBlock) return texts_.at("device idle");
    const Block& of = blocks_.blocks[block];
    if (of.kind == Block::Kind::module || of.kind == Block::Kind::fold) return texts_.at(blocks::label_of(blocks_, block));
    const auto [entry, fresh] = known_.try_emplace(of.label, 0);
    if (fresh) entry->second = texts_.at(blocks::label_of(blocks_, block));
    return entry->second;
  }
  std::vector<std::string> take() { return texts_.take(); }

 private:
  const Blocks& blocks_;
  Texts texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> known_;  // by Block::label
};

// All time of the block on tracks of this kind, as its details say it.
Ns whole_time(const Blocks& blocks, const LevelTrack& track, std::uint32_t block) {
  const bool host = blocks.tracks[track.track].kind == BlockTrack::Kind::host;
  return host ? blocks.blocks[block].host : blocks.index.device[block];
}

std::string_view kind_of(BlockTrack::Kind kind) {
  switch (kind) {
    case BlockTrack::Kind::host:
      return "host";
    case BlockTrack::Kind::device:
      return "device";
    case BlockTrack::Kind::communication:
      return "communication";
  }
  return "";
}

std::string_view kind_of(RecordingTrack::Kind kind) {
  switch (kind) {
    case RecordingTrack::Kind::steps:
    case RecordingTrack::Kind::host:
      return "host";
    case RecordingTrack::Kind::device:
      return "device";
    case RecordingTrack::Kind::communication:
      return "communication";
    case RecordingTrack::Kind::overlap:
      return "overlap";
  }
  return "";
}

std::string label_of(const Portion& part, const Profile& profile) {
  switch (part.kind) {
    case Part::step:
      return "step " + std::to_string(profile.steps[part.step].index);
    case Part::stage:
      return std::string(name(part.stage));
    case Part::waiting:
      return "waiting";
    case Part::communication:
      return "communication";
    case Part::exposed:
      return "exposed";
    case Part::hidden:
      return "hidden";
    case Part::earlier:
      return "launched before the recording";
    case Part::outside:
      return part.stage == profile::Stage::other ? "outside the steps" : std::string(name(part.stage)) + ", outside the steps";
    case Part::before:
      return "before the first step";
    case Part::between:
      return "between steps";
    case Part::after:
      return "after the last step";
  }
  return "";
}

bool lies_outside(const Portion& part) {
  return part.kind == Part::before || part.kind == Part::between || part.kind == Part::after;
}

std::string_view kind_of(const Portion& part) {
  if (lies_outside(part)) return "gap";
  switch (part.kind) {
    case Part::step:
      return "step";
    case Part::waiting:
      return "wait";
    case Part::communication:
      return "communication";
    case Part::exposed:
      return "exposed";
    case Part::hidden:
      return "hidden";
    default:
      return "stage";
  }
}

std::string_view colour_of(const Portion& part) {
  if (lies_outside(part)) return "idle";
  switch (part.kind) {
    case Part::waiting:
      return "waiting";
    case Part::earlier:
      return "earlier_step";
    case Part::communication:
    case Part::exposed:
      return "communication";
    case Part::hidden:
      return "hidden_communication";
    default:
      return name(part.stage);
  }
}

ShownBlock placed(const Rectangle& rectangle) {
  return {.start = rectangle.start,
          .duration = rectangle.duration,
          .count = rectangle.count,
          .busy = rectangle.busy,
          .whole = rectangle.busy,
          .spans = rectangle.spans};
}

}  // namespace

std::uint32_t Texts::at(std::string_view text) {
  const auto [entry, fresh] = positions_.try_emplace(std::string(text), static_cast<std::uint32_t>(list_.size()));
  if (fresh) list_.emplace_back(text);
  return entry->second;
}

ShownTrack shown(const Blocks& blocks, const LevelTrack& track) {
  static const Block kIdle{.kind = Block::Kind::idle};
  const BlockTrack& of = blocks.tracks[track.track];
  ShownTrack told{.id = of.id, .name = of.name, .kind = kind_of(of.kind), .busy = track.busy};
  Labels labels(blocks);
  for (const Rectangle& rectangle : track.rectangles) {
    const bool merged = rectangle.count > 1;
    const Block& block = rectangle.block == kNoBlock ? kIdle : blocks.blocks[rectangle.block];
    ShownBlock shown = placed(rectangle);
    shown.label = labels.at(rectangle.block);
    shown.kind = merged ? "merged" : blocks::name(block.kind);
    shown.stage = blocks::colour_of(block);
    shown.direction = static_cast<int>(block.direction);
    shown.waiting = rectangle.waiting;
    if (!merged) shown.count = block.members;
    if (!merged && block.kind != Block::Kind::idle) {
      shown.whole = whole_time(blocks, track, rectangle.block);
      shown.segment = blocks::segment_of(blocks, rectangle.block);
      shown.open = blocks.opens(rectangle.block);
      shown.block = rectangle.block;
    }
    told.blocks.push_back(std::move(shown));
  }
  told.labels = labels.take();
  return told;
}

ShownTrack shown(const Overlap& overlap) {
  ShownTrack told{.id = "overlap " + overlap.device,
                  .name = overlap.device.empty() ? "CPU overlap" : "GPU " + overlap.device.substr(0, 20) + " overlap",
                  .kind = "overlap",
                  .busy = overlap.busy};
  Texts labels;
  for (const Rectangle& rectangle : overlap.rectangles) {
    const bool merged = rectangle.count > 1, exposed = rectangle.block == static_cast<std::uint32_t>(Overlap::Kind::exposed);
    const std::string_view what = exposed ? "exposed" : "hidden";
    ShownBlock shown = placed(rectangle);
    shown.label = labels.at(what);
    shown.kind = merged ? "merged" : what;
    shown.stage = exposed ? "communication" : "hidden_communication";
    if (!merged) shown.whole = exposed ? overlap.exposed : overlap.hidden;
    told.blocks.push_back(std::move(shown));
  }
  told.labels = labels.take();
  return told;
}

ShownTrack shown(const Blocks& blocks, const PathRow& row) {
  ShownTrack told{.id = "path", .name = "critical path", .kind = "path", .busy = row.busy};
  Texts labels;
  for (const Rectangle& rectangle : row.rectangles) {
    const bool known = rectangle.block != kNoBlock;
    ShownBlock shown = placed(rectangle);
    shown.label = labels.at(known ? blocks::label_of(blocks, rectangle.block) : "queued, or of another step");
    shown.kind = rectangle.count > 1 ? "merged" : "path";
    shown.stage = known ? blocks::colour_of(blocks.blocks[rectangle.block]) : "idle";
    shown.whole = row.time;
    told.blocks.push_back(std::move(shown));
  }
  told.labels = labels.take();
  return told;
}

ShownTrack shown(const Recording& recording, const RecordingView::Track& track, const Profile& profile) {
  const RecordingTrack& of = recording.tracks[track.track];
  ShownTrack told{.id = of.id, .name = of.name, .kind = kind_of(of.kind), .busy = track.busy};
  Texts labels;
  for (const Rectangle& rectangle : track.rectangles) {
    const Portion& part = recording.parts[rectangle.block];
    const bool merged = rectangle.count > 1;
    ShownBlock shown = placed(rectangle);
    shown.label = labels.at(label_of(part, profile));
    shown.kind = merged ? "merged" : kind_of(part);
    shown.stage = colour_of(part);
    shown.open = !merged && part.step < profile.steps.size();
    if (shown.open) shown.segment = std::to_string(part.step);
    told.blocks.push_back(std::move(shown));
  }
  told.labels = labels.take();
  return told;
}

std::string crumb_of(const Blocks& blocks, std::uint32_t block) {
  const auto lifted = blocks.lifted.find(block);
  return blocks::label_of(blocks, block) + (lifted == blocks.lifted.end() ? "" : " › " + blocks::label_of(blocks, lifted->second));
}

}  // namespace hotlens::features
