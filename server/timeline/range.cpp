// `hotlens/timeline/range`: what ran between two moments.
#include "server/features/timeline_range.h"

#include <algorithm>

#include "server/features/timeline_level.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {

using protocol::Answer;
using protocol::Json;

Answer range(const Subject& subject, const protocol::Reader& params) {
  const Ns from(params["from"].integer()), to(params["to"].integer());
  if (auto error = params.error()) return std::unexpected(*error);
  const profile::Blocks& blocks = *subject.blocks;
  // Cut to what the level shows, so that a range is no longer than what it is a part of.
  const features::Level level = features::level(blocks, subject.block, {.from = from, .to = to, .width = 1});
  const features::RangeSums sums = features::sums_of(blocks, subject.block, level.window_from, level.window_to);
  Json tracks = Json::array();
  for (const features::LevelTrack& track : level.tracks) {
    const profile::BlockTrack& of = blocks.tracks[track.track];
    if (track.busy > Ns{}) tracks.push_back({{"id", of.id}, {"name", of.name}, {"busy", track.busy.count()}});
  }
  return Json{{"from", level.window_from.count()}, {"to", level.window_to.count()},      {"device", sums.device.count()},
              {"tracks", std::move(tracks)},       {"kernels", uses_json(sums.kernels)}, {"operators", uses_json(sums.operators)}};
}

}  // namespace hotlens::timeline_requests
