#include "server/session/timeline/places.h"

#include "server/features/lines/line_summary.h"
#include "server/features/timeline/facts.h"

namespace hotlens::session {
namespace {

using protocol::Json;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

}  // namespace

std::optional<TimelineTarget> target_at(const features::FileView& view, source::Position at) {
  const std::optional<features::LineSummary> summary = features::summary_at(view, at);
  if (!summary || !features::has_block(*summary)) return std::nullopt;
  TimelineTarget target{.profile = view.profile->id};
  if (!summary->modules.empty()) {
    target.module = view.profile->at(summary->modules.front()).path;
  } else {
    target.stage = summary->stages.front().stage;
  }
  return target;
}

Json found_place(timeline_requests::Library& library, const TimelineTarget& target) {
  const auto opened = library.open(target.profile);
  if (!opened) return nullptr;
  const std::size_t step = (*opened)->profile().representative;
  const auto blocks = (*opened)->blocks(step);
  const auto block = target.stage ? features::first_of_stage(*blocks, *target.stage) : features::first_of_module(*blocks, target.module);
  if (!block) return nullptr;
  return {{"profile", (*opened)->id()}, {"step", step}, {"path", blocks::path_of(*blocks, *block)}};
}

std::string percent_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_plain(c)) {
      result += c;
      continue;
    }
    result += '%';
    result += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
    result += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
  }
  return result;
}

std::string fragment_of(const Json& place) {
  std::string text = "#profile=" + percent_escaped(place.value("profile", std::string()));
  if (place.contains("step")) text += "&step=" + std::to_string(place["step"].get<std::size_t>());
  std::string path;  // segments are escaped once more, since a name may hold the separator
  for (const Json& segment : place.value("path", Json::array())) {
    path += (path.empty() ? "" : "/") + percent_escaped(segment.get<std::string>());
  }
  if (!path.empty()) text += "&path=" + percent_escaped(path);
  if (place.contains("before")) text += "&before=" + percent_escaped(place["before"].get<std::string>());
  return text;
}

}  // namespace hotlens::session
