// `hotlens/timeline/export`: the events of a window, as Perfetto and chrome://tracing read them.
#include <algorithm>
#include <chrono>

#include "annotator/report/export/window.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Answer;
using protocol::Code;
using protocol::Json;
using protocol::RpcError;

constexpr std::size_t kMaxEvents = 200'000;  // about 30 MB of text, what a page can still hand on

// Moments are after `origin`; whatever is asked for, nothing overflows.
Answer window_of(const profile::Annotated& annotated, Ns origin, Ns from, Ns to, const std::string& name) {
  constexpr Ns kFar = std::chrono::hours(24 * 365);
  const report::TraceWindow window{
      .from = origin + std::clamp(from, -kFar, kFar), .to = origin + std::clamp(to, -kFar, kFar), .most = kMaxEvents};
  Result<std::string> text = report::export_window(annotated, window);
  if (!text) return std::unexpected(RpcError{Code::invalid_params, text.error().message, {}});
  return Json{{"name", name}, {"text", *std::move(text)}};
}

Ns moment(const protocol::Reader& params, std::string_view key, Ns otherwise) {
  const auto given = params.maybe(key);
  return given ? Ns(given->integer()) : otherwise;
}

}  // namespace

Answer export_window(const Subject& subject, const protocol::Reader& params) {
  const blocks::Blocks& blocks = *subject.blocks;
  const blocks::Block& step = blocks.blocks[blocks::kStepBlock];
  const Ns from = moment(params, "from", step.first), to = moment(params, "to", step.last);
  if (auto error = params.error()) return std::unexpected(*error);
  const std::string name = "hotlens-step-" + std::to_string(subject.opened->profile().steps[subject.step].index) + ".json";
  return window_of(*blocks.annotated, blocks.start, from, to, name);
}

Answer export_of_recording(const Opened& opened, const protocol::Reader& params) {
  const features::Recording& recording = opened.recording();
  const Ns from = moment(params, "from", Ns{}), to = moment(params, "to", recording.length);
  if (auto error = params.error()) return std::unexpected(*error);
  return window_of(opened.annotated(), recording.start, from, to, "hotlens-recording.json");
}

}  // namespace hotlens::timeline_requests
