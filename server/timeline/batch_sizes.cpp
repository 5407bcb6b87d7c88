// `hotlens/timeline/batchSizes`: what was predicted for other batch sizes, and where the script sets its own.
#include <fmt/format.h>

#include <algorithm>

#include "annotator/lab/predict/kept.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/source_text.h"
#include "annotator/source/batch_size.h"
#include "server/timeline/answers.h"
#include "server/timeline/requests.h"
#include "server/timeline/settings_files.h"

namespace hotlens::timeline_requests {
namespace {

using profile::Profile;
using protocol::Answer;
using protocol::Json;

constexpr std::size_t kMostFiles = 200;  // of the workspace, to look for the number in

Json point_json(const lab::BatchSizes& of, const lab::Point& point) {
  Json json{{"batchSize", point.batch}, {"measured", point.method == lab::Method::run}, {"peak", count(point.peak)}};
  if (point.time) {
    json["step"] = point.time->step.count();
    json["low"] = point.time->low.count();
    json["high"] = point.time->high.count();
    json["samplesPerSecond"] = samples_per_second(of, point);
  }
  if (!point.note.empty()) json["note"] = point.note;
  return json;
}

std::string_view line_at(std::string_view text, std::size_t number) {
  for (; number > 0 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_of("\r\n"));
}

// Nothing where the file does not set it, or nobody knows which number is meant.
std::optional<Json> place_at(const std::filesystem::path& file, std::string_view text, const std::optional<source::Range>& at) {
  if (!at) return std::nullopt;
  const std::string_view line = line_at(text, at->begin.line);
  if (at->end.line != at->begin.line || at->end.column > line.size()) return std::nullopt;
  return Json{{"file", file.string()},
              {"line", at->begin.line},
              {"before", line.substr(0, at->begin.column)},
              {"after", line.substr(at->end.column)}};
}

void add(Json& places, std::optional<Json> place) {
  if (place) places.push_back(std::move(*place));
}

Json places_of(const Profile& profile, std::int64_t batch) {
  Json places = Json::array();
  SettingsFiles settings(profile);
  std::size_t looked = 0;
  for (std::size_t at = 0; at < profile.files.size() && looked < kMostFiles; ++at) {
    const profile::SourceFile& file = profile.files[at];
    if (!file.workspace) continue;
    ++looked;
    auto text = profile::executed_text(profile, profile::FileId{static_cast<std::uint32_t>(at)});
    if (!text) continue;
    settings.add(file.path, *text);
    const source::Tree tree = source::Tree::parse(std::move(*text));
    add(places, place_at(file.path, tree.text(), source::batch_size_number(tree, batch)));
  }
  for (const SettingsFile& file : settings.found()) {
    add(places, place_at(file.path, file.text, source::batch_size_in_settings(file.text, batch)));
  }
  return places;
}

// What makes a prediction of this profile, in a terminal.
Json commands_for(const Profile& profile, std::int64_t batch) {
  Json commands = Json::array();
  const auto manifest = profile::read_manifest(profile.folder);
  const bool sized = manifest && !manifest->sized_programs.empty();
  if (!sized) {
    const std::int64_t second = lab::second_size(batch);
    commands.push_back(fmt::format("hotlens run --batch-sizes {},{} {}", std::min(batch, second), std::max(batch, second), profile.source));
  }
  commands.push_back(fmt::format("hotlens predict {} --batch-size {}", sized ? profile.id : "latest", lab::sizes_around(batch)));
  return commands;
}

}  // namespace

void put_batch_sizes(Json& answer, const lab::BatchSizes& predicted) {
  answer["points"] = Json::array();
  for (const lab::Point& point : predicted.points) answer["points"].push_back(point_json(predicted, point));
  answer["refused"] = Json::array();
  for (const lab::Refusal& refusal : predicted.refused) {
    answer["refused"].push_back({{"batchSize", refusal.batch}, {"reason", refusal.reason}});
  }
  if (!predicted.end) return;
  const lab::MemoryEnd& end = *predicted.end;
  answer["memory"] = {{"bytes", count(end.memory)}, {"of", end.whose}, {"largest", end.largest_batch}};
}

Answer batch_sizes(const Opened& opened) {
  const Profile& profile = opened.profile();
  Json answer{{"profile", opened.id()},  {"points", Json::array()},   {"refused", Json::array()},
              {"places", Json::array()}, {"commands", Json::array()}, {"predict", "none"},
              {"edits", false}};
  if (profile.folder.empty() || !profile.batch_size) return answer;
  const std::int64_t batch = *profile.batch_size;
  answer["batchSize"] = batch;
  answer["places"] = places_of(profile, batch);
  if (const auto kept = lab::read_kept_batch_sizes(profile.folder, profile.id)) {
    put_batch_sizes(answer, *kept);
  } else {
    answer["commands"] = commands_for(profile, batch);
  }
  return answer;
}

}  // namespace hotlens::timeline_requests
