// `hotlens/timeline/search` and `breakdown`: lists of rows.
#include <algorithm>

#include "server/features/timeline/breakdown.h"
#include "server/features/timeline/facts.h"
#include "server/features/timeline/search.h"
#include "server/timeline/requests.h"
#include "server/timeline/rows.h"

namespace hotlens::timeline_requests {
namespace {

using profile::ModuleId;
using profile::Profile;
using protocol::Answer;
using protocol::Json;
using protocol::Reader;

constexpr std::size_t kUsualRows = 100;

std::size_t limit_in(const Reader& params) {
  const auto limit = params.maybe("limit");
  return limit ? std::min<std::size_t>(limit->unsigned32(), kMostRows) : kUsualRows;
}

std::string_view name(features::Match::Kind kind) {
  switch (kind) {
    case features::Match::Kind::stage:
      return "stage";
    case features::Match::Kind::module:
      return "module";
    case features::Match::Kind::op:
      return "operator";
    case features::Match::Kind::kernel:
      return "kernel";
    case features::Match::Kind::file:
      return "file";
  }
  return "";
}

}  // namespace

Answer search(const Subject& subject, const Reader& params) {
  const std::string query = params["query"].string();
  const std::size_t limit = limit_in(params);
  if (auto error = params.error()) return std::unexpected(*error);
  const features::Matches found = features::search(*subject.blocks, subject.opened->profile(), subject.opened->names(), query, limit);
  const Profile& profile = subject.opened->profile();
  Json list = Json::array();
  for (const features::Match& match : found.matches) {
    Json json{{"kind", name(match.kind)},
              {"label", cut(match.label)},
              {"detail", cut(match.detail)},
              {"time", match.time.count()},
              {"count", match.count}};
    if (match.steps > 0) json["steps"] = match.steps;
    if (match.step) json["step"] = *match.step;
    if (match.block != blocks::kNoBlock) json["path"] = blocks::path_of(*subject.blocks, match.block);
    if (match.file.valid()) json["file"] = profile.files[match.file.index].path.string();
    if (match.kind == features::Match::Kind::module && match.block != blocks::kNoBlock) {
      const ModuleId id = features::module_of(*subject.blocks, profile, match.block);
      if (id.valid()) put_place(json, profile, profile.at(id).attached);
    }
    list.push_back(std::move(json));
  }
  return Json{{"matches", std::move(list)}, {"total", found.total}};
}

Answer breakdown(const Subject& subject, const Reader& params) {
  const std::string metric = params["metric"].string();
  const std::size_t limit = limit_in(params);
  if (metric != "time" && metric != "memory") params["metric"].fail(R"("time" or "memory")");
  if (auto error = params.error()) return std::unexpected(*error);
  const Profile& profile = subject.opened->profile();
  const auto module = module_in(params, profile);
  if (auto error = params.error()) return std::unexpected(*error);
  if (!module) return std::unexpected(module.error());
  const std::vector<features::BreakdownRow> rows = metric == "time"
                                                       ? features::time_below(subject.opened->annotated(), profile, subject.step, *module)
                                                       : features::memory_below(profile, *module);
  const RowPaths paths(*subject.blocks);
  std::int64_t total = 0;
  Json list = Json::array();
  for (const features::BreakdownRow& row : rows) {
    total += row.value;
    if (list.size() >= limit) continue;
    Json json = row_json(row, profile);
    paths.put(json, row, profile);
    list.push_back(std::move(json));
  }
  return Json{{"rows", std::move(list)}, {"total", total}};
}

}  // namespace hotlens::timeline_requests
