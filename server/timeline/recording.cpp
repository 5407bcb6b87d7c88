// `hotlens/timeline/recording`: all steps on one time axis. A block's segment is the position of the step that it leads to.
#include "server/features/timeline_recording.h"

#include "server/timeline/columns.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using features::Portion;
using features::Recording;
using features::RecordingTrack;
using features::Rectangle;
using profile::Profile;
using protocol::Answer;
using protocol::Json;
using Kind = Portion::Kind;

std::string label_of(const Portion& part, const Profile& profile) {
  switch (part.kind) {
    case Kind::step:
      return "step " + std::to_string(profile.steps[part.step].index);
    case Kind::stage:
      return std::string(name(part.stage));
    case Kind::waiting:
      return "waiting";
    case Kind::earlier:
      return "launched before the recording";
    case Kind::outside:
      return part.stage == profile::Stage::other ? "outside the steps" : std::string(name(part.stage)) + ", outside the steps";
    case Kind::before:
      return "before the first step";
    case Kind::between:
      return "between steps";
    case Kind::after:
      return "after the last step";
  }
  return "";
}

std::string_view kind_of(Kind kind) {
  switch (kind) {
    case Kind::step:
      return "step";
    case Kind::waiting:
      return "wait";
    case Kind::before:
    case Kind::between:
    case Kind::after:
      return "gap";
    default:
      return "stage";
  }
}

std::string_view colour_of(const Portion& part) {
  switch (part.kind) {
    case Kind::waiting:
      return "waiting";
    case Kind::earlier:
      return "earlier_step";
    case Kind::before:
    case Kind::between:
    case Kind::after:
      return "idle";
    default:
      return name(part.stage);
  }
}

Json blocks_of(const Recording& recording, const std::vector<Rectangle>& rectangles, const Profile& profile) {
  Texts labels;
  Columns columns;
  for (const Rectangle& rectangle : rectangles) {
    const Portion& part = recording.parts[rectangle.block];
    const bool merged = rectangle.count > 1;
    const bool leads = !merged && part.step < profile.steps.size();
    columns.add({.start = rectangle.start,
                 .duration = rectangle.duration,
                 .label = labels.at(label_of(part, profile)),
                 .kind = merged ? "merged" : kind_of(part.kind),
                 .stage = colour_of(part),
                 .count = rectangle.count,
                 .busy = rectangle.busy,
                 .whole = rectangle.busy,
                 .waiting = {},
                 .spans = rectangle.spans,
                 .segment = leads ? std::to_string(part.step) : std::string(),
                 .open = leads});
  }
  return columns.take(labels.take());
}

}  // namespace

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
    const RecordingTrack& of = recording.tracks[track.track];
    tracks.push_back({{"id", of.id},
                      {"kind", of.kind == RecordingTrack::Kind::device ? "device" : "host"},
                      {"name", of.name},
                      {"busy", track.busy.count()},
                      {"blocks", blocks_of(recording, track.rectangles, opened.profile())}});
  }
  return Json{{"profile", opened.id()},
              {"extent", {0, recording.length.count()}},
              {"window", {view.from.count(), view.to.count()}},
              {"pixel", view.pixel.count()},
              {"tracks", std::move(tracks)}};
}

}  // namespace hotlens::timeline_requests
