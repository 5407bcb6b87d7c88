// `hotlens/timeline/recording`: all steps on one time axis.
#include "server/timeline/columns.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {

using features::Recording;
using protocol::Answer;
using protocol::Json;

Answer recording(const Opened& opened, const protocol::Reader& params) {
  const auto from = params.maybe("from"), to = params.maybe("to");
  const std::optional<Ns> begin = from ? std::optional(Ns(from->integer())) : std::nullopt;
  const std::optional<Ns> end = to ? std::optional(Ns(to->integer())) : std::nullopt;
  const std::uint32_t width = params["width"].unsigned32();
  if (auto error = params.error()) return std::unexpected(*error);
  const Recording& recording = opened.recording();
  const features::RecordingView view = features::look(recording, begin, end, width);
  Json tracks = Json::array();
  for (const features::RecordingView::Track& track : view.tracks) {
    tracks.push_back(track_json(features::shown(recording, track, opened.profile())));
  }
  return Json{{"profile", opened.id()},
              {"extent", {0, recording.length.count()}},
              {"window", {view.from.count(), view.to.count()}},
              {"pixel", view.pixel.count()},
              {"tracks", std::move(tracks)}};
}

}  // namespace hotlens::timeline_requests
