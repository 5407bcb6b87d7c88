// `hotlens/timeline/range`: what ran between two moments, of a step or of the whole recording.
#include "server/features/timeline/range.h"

#include <algorithm>
#include <span>

#include "server/features/timeline/level.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Answer;
using protocol::Json;
using protocol::Reader;

constexpr std::size_t kMostParts = 40;
constexpr std::size_t kMostPartName = 300;  // bytes

struct Moments {
  Ns from{}, to{};
};

Moments moments_in(const Reader& params) {
  return {Ns(params["from"].integer()), Ns(params["to"].integer())};
}

Json track_json(const std::string& id, const std::string& name, Ns busy) {
  return {{"id", id}, {"name", name}, {"busy", busy.count()}};
}

Json parts_json(const std::vector<features::RangePart>& parts) {
  Json list = Json::array();
  for (const features::RangePart& part : std::span(parts).first(std::min(parts.size(), kMostParts))) {
    list.push_back({{"name", part.name.substr(0, kMostPartName)}, {"time", part.time.count()}});
  }
  return list;
}

Json sums_json(const Moments& window, const features::RangeSums& sums, Json tracks) {
  Json answer{{"from", window.from.count()}, {"to", window.to.count()}, {"device", sums.device.count()}, {"tracks", std::move(tracks)}};
  answer["stages"] = parts_json(sums.stages);
  answer["layers"] = parts_json(sums.layers);
  if (sums.exposed_communication > Ns{}) answer["exposedCommunication"] = sums.exposed_communication.count();
  put_uses(answer, "kernels", "moreKernels", sums.kernels);
  put_uses(answer, "operators", "moreOperators", sums.operators);
  return answer;
}

}  // namespace

Answer range(const Subject& subject, const Reader& params) {
  const auto [from, to] = moments_in(params);
  if (auto error = params.error()) return std::unexpected(*error);
  const blocks::Blocks& blocks = *subject.blocks;
  // Cut to what the level shows, so that a range is no longer than what it is a part of.
  const features::Level level = features::level(blocks, subject.block, {.from = from, .to = to, .width = 1});
  const Moments window{level.window_from, level.window_to};
  Json tracks = Json::array();
  for (const features::LevelTrack& track : level.tracks) {
    const blocks::BlockTrack& of = blocks.tracks[track.track];
    if (track.busy > Ns{}) tracks.push_back(track_json(of.id, of.name, track.busy));
  }
  return sums_json(window, features::sums_of(blocks, subject.block, window.from, window.to), std::move(tracks));
}

Answer range_of_recording(const Opened& opened, const Reader& params) {
  const auto [from, to] = moments_in(params);
  if (auto error = params.error()) return std::unexpected(*error);
  const features::Recording& recording = opened.recording();
  const features::RecordingView view = features::look(recording, from, to, 1);
  Json tracks = Json::array();
  for (const features::RecordingView::Track& track : view.tracks) {
    const features::RecordingTrack& of = recording.tracks[track.track];
    if (track.busy > Ns{}) tracks.push_back(track_json(of.id, of.name, track.busy));
  }
  const features::RangeSums sums = features::sums_of(opened.annotated(), recording.start + view.from, recording.start + view.to);
  return sums_json({view.from, view.to}, sums, std::move(tracks));
}

}  // namespace hotlens::timeline_requests
