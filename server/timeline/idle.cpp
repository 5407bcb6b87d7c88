// `hotlens/timeline/idle`: why nothing runs at a moment.
#include <algorithm>
#include <array>
#include <span>

#include "annotator/causes/cause_table.h"
#include "server/features/timeline/idle.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Blocks;
using features::Idle;
using protocol::Answer;
using protocol::Code;
using protocol::Json;

constexpr std::size_t kMostDoings = 8;

Json doing_json(const Idle::Doing& doing, const Subject& subject) {
  Json json{{"what", doing.what.substr(0, 300)}, {"waits", doing.waits}, {"time", doing.time.count()}};
  const auto& model = subject.blocks->annotated->model;
  if (!doing.line || !model) return json;
  const profile::ModelLine& at = model->lines[*doing.line];
  const std::vector<profile::SourceFile>& files = subject.opened->profile().files;
  if (!at.file.valid() || at.file.index >= files.size()) return json;
  json["file"] = files[at.file.index].path.string();
  json["line"] = at.line;
  return json;
}

Json next_json(const Idle::Next& next, const Blocks& blocks) {
  Json json{{"label", blocks::label_of(blocks, next.block)}, {"path", blocks::path_of(blocks, next.block)}};
  if (next.launch.empty()) return json;
  json["launch"] = next.launch.substr(0, 200);
  json["launched"] = next.launched.count();
  json["launching"] = next.launching.count();
  json["delay"] = next.delay.count();
  if (!next.caller.empty()) json["caller"] = next.caller.substr(0, 200);
  return json;
}

}  // namespace

Answer idle(const Subject& subject, const protocol::Reader& params) {
  const std::string id = params["track"].string();
  const Ns at(params["at"].integer());
  if (auto error = params.error()) return std::unexpected(*error);
  const Blocks& blocks = *subject.blocks;
  const auto track = std::ranges::find(blocks.tracks, id, &blocks::BlockTrack::id);
  if (track == blocks.tracks.end()) return std::unexpected(protocol::RpcError{Code::invalid_params, "this step has no such track", {}});
  const auto found = features::idle_at(blocks, static_cast<std::uint32_t>(track - blocks.tracks.begin()), at);
  if (!found) return Json{{"parts", Json::array()}, {"doing", Json::array()}};
  const bool has_device = subject.opened->profile().has_device();
  Json parts = Json::array(), doing = Json::array();
  for (const Idle::Part& part : found->parts)
    parts.push_back({{"what", causes::words_of(part.cause, has_device)}, {"time", part.time.count()}});
  const std::size_t shown = std::min(found->doing.size(), kMostDoings);
  for (const Idle::Doing& each : std::span(found->doing).first(shown)) doing.push_back(doing_json(each, subject));
  Json answer{{"start", found->start.count()}, {"end", found->end.count()}, {"parts", std::move(parts)}, {"doing", std::move(doing)}};
  if (found->next) answer["next"] = next_json(*found->next, blocks);
  return answer;
}

}  // namespace hotlens::timeline_requests
