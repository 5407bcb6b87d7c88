#include "server/timeline/columns.h"

namespace hotlens::timeline_requests {

using features::ShownBlock;
using protocol::Json;

namespace {

template <class Value>
Json column(const features::ShownTrack& track, Value value) {
  Json list = Json::array();
  for (const ShownBlock& block : track.blocks) list.push_back(value(block));
  return list;
}

Json times(const features::ShownTrack& track, Ns ShownBlock::* time) {
  return column(track, [time](const ShownBlock& block) { return (block.*time).count(); });
}

}  // namespace

Json columns(const features::ShownTrack& track) {
  features::Texts kinds, stages;
  Json kind = column(track, [&](const ShownBlock& block) { return kinds.at(block.kind); });
  Json stage = column(track, [&](const ShownBlock& block) { return stages.at(block.stage); });
  return {{"start", times(track, &ShownBlock::start)},
          {"duration", times(track, &ShownBlock::duration)},
          {"label", column(track, [](const ShownBlock& block) { return block.label; })},
          {"kind", std::move(kind)},
          {"stage", std::move(stage)},
          {"direction", column(track, [](const ShownBlock& block) { return block.direction; })},
          {"count", column(track, [](const ShownBlock& block) { return block.count; })},
          {"busy", times(track, &ShownBlock::busy)},
          {"whole", times(track, &ShownBlock::whole)},
          {"waiting", times(track, &ShownBlock::waiting)},
          {"spans", column(track, [](const ShownBlock& block) { return block.spans; })},
          {"segment", column(track, [](const ShownBlock& block) { return block.segment; })},
          {"open", column(track, [](const ShownBlock& block) { return block.open ? 1 : 0; })},
          {"labels", track.labels},
          {"kinds", kinds.take()},
          {"stages", stages.take()}};
}

Json track_json(const features::ShownTrack& track) {
  return {{"id", track.id}, {"kind", track.kind}, {"name", track.name}, {"busy", track.busy.count()}, {"blocks", columns(track)}};
}

}  // namespace hotlens::timeline_requests
