// `hotlens/timeline/search`, `breakdown` and `compare`: lists of rows.
#include <algorithm>
#include <map>

#include "annotator/profile/diff.h"
#include "server/features/timeline_breakdown.h"
#include "server/features/timeline_facts.h"
#include "server/features/timeline_search.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using profile::Block;
using profile::Blocks;
using profile::ModuleId;
using profile::Profile;
using protocol::Answer;
using protocol::Code;
using protocol::Json;
using protocol::Reader;
using protocol::RpcError;

constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kUsualRows = 100;
constexpr std::size_t kMaxText = 300;  // bytes

std::string cut(std::string text) {
  if (text.size() <= kMaxText) return text;
  std::size_t limit = kMaxText;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit) + "…";
}

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

void put_place(Json& row, const Profile& profile, const std::optional<profile::Site>& site) {
  if (!site || site->file.index >= profile.files.size()) return;
  row["file"] = profile.files[site->file.index].path.string();
  row["line"] = site->line;
}

// The first block of each module, and of each stage.
struct FirstBlocks {
  std::map<std::uint32_t, std::uint32_t> modules;  // by module number of the trace
  std::map<profile::Stage, std::uint32_t> stages;
};

FirstBlocks first_blocks(const Blocks& blocks) {
  FirstBlocks first;
  for (const profile::BlockIndex::Name& name : blocks.index.names) {
    const std::uint32_t at = blocks.index.by_rank[blocks.index.name_rank[name.begin]];
    const Block& block = blocks.blocks[at];
    if (name.kind == Block::Kind::module) first.modules.try_emplace(blocks.annotated->owners.calls.value[block.id], at);
    if (name.kind == Block::Kind::stage) first.stages.try_emplace(block.stage, at);
  }
  return first;
}

std::map<std::string_view, std::uint32_t> blocks_by_path(const Blocks& blocks, const FirstBlocks& first) {
  std::map<std::string_view, std::uint32_t> list;
  for (const auto& [number, block] : first.modules) list.emplace(blocks.modules[number].path, block);
  return list;
}

// Invalid for an absent name; the error names one that is not there.
std::expected<ModuleId, RpcError> module_in(const Reader& params, const Profile& profile) {
  const auto name = params.maybe("module");
  if (!name) return ModuleId{};
  const std::string path = name->string();
  const auto module = std::ranges::find(profile.modules, path, &profile::Module::path);
  if (module != profile.modules.end()) return ModuleId{static_cast<std::uint32_t>(module - profile.modules.begin())};
  return std::unexpected(gone({ErrorCode::not_found, "the profile has no module " + cut(path), {}}));
}

Json row_json(const features::BreakdownRow& row, const Profile& profile) {
  Json json{{"label", cut(row.label)},
            {"kind", features::name(row.kind)},
            {"value", row.value},
            {"parts", Json::array()},
            {"children", row.children}};
  for (const features::Part& part : row.parts) json["parts"].push_back({{"what", part.what}, {"value", part.value}});
  if (row.kind != features::BreakdownRow::Kind::module) return json;
  const profile::Module& module = profile.at(row.module);
  json["module"] = module.path;
  if (!module.class_name.empty()) json["class"] = cut(module.class_name);
  put_place(json, profile, module.attached ? module.attached : module.class_site);
  return json;
}

Json change_json(const profile::ModuleRow& row, const Profile& profile, ModuleId id) {
  const profile::Module& module = profile.at(id);
  Json json{{"module", row.path},
            {"class", cut(module.class_name)},
            {"change", profile::name(row.time.outcome)},
            {"children", module.children.size()}};
  if (row.time.before) json["before"] = row.time.before->count();
  if (row.time.after) json["after"] = row.time.after->count();
  if (row.time.noise) json["noise"] = row.time.noise->count();
  return json;
}

profile::Side side_of(const Library::Shared& opened) {
  profile::Side side{.profile = std::shared_ptr<const Profile>(opened, &opened->profile())};
  if (opened->annotated().manifest) side.plain_steps = opened->annotated().manifest->plain_steps;
  return side;
}

}  // namespace

Answer search(const Subject& subject, const Reader& params) {
  const std::string query = params["query"].string();
  const std::size_t limit = limit_in(params);
  if (auto error = params.error()) return std::unexpected(*error);
  const features::Matches found = features::search(*subject.blocks, subject.opened->profile(), query, limit);
  const Profile& profile = subject.opened->profile();
  Json list = Json::array();
  for (const features::Match& match : found.matches) {
    Json json{{"kind", name(match.kind)},
              {"label", cut(match.label)},
              {"detail", cut(match.detail)},
              {"time", match.time.count()},
              {"count", match.count}};
    if (match.block != profile::kNoBlock) json["path"] = profile::path_of(*subject.blocks, match.block);
    if (match.file.valid()) json["file"] = profile.files[match.file.index].path.string();
    if (match.kind == features::Match::Kind::module) {
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
  if (metric != "time" && metric != "memory") params["metric"].fail("\"time\" or \"memory\"");
  if (auto error = params.error()) return std::unexpected(*error);
  const Profile& profile = subject.opened->profile();
  const auto module = module_in(params, profile);
  if (auto error = params.error()) return std::unexpected(*error);
  if (!module) return std::unexpected(module.error());
  const std::vector<features::BreakdownRow> rows = metric == "time"
                                                       ? features::time_below(subject.opened->annotated(), profile, subject.step, *module)
                                                       : features::memory_below(profile, *module);
  const FirstBlocks first = first_blocks(*subject.blocks);
  const auto by_path = blocks_by_path(*subject.blocks, first);
  std::int64_t total = 0;
  Json list = Json::array();
  for (const features::BreakdownRow& row : rows) {
    total += row.value;
    if (list.size() >= limit) continue;
    Json json = row_json(row, profile);
    const auto block = row.module.valid() ? by_path.find(profile.at(row.module).path) : by_path.end();
    if (block != by_path.end()) json["path"] = profile::path_of(*subject.blocks, block->second);
    const auto stage = first.stages.find(row.stage);
    if (row.kind == features::BreakdownRow::Kind::stage && stage != first.stages.end()) {
      json["path"] = profile::path_of(*subject.blocks, stage->second);
    }
    list.push_back(std::move(json));
  }
  return Json{{"rows", std::move(list)}, {"total", total}};
}

Answer compare(Library& library, const Reader& params) {
  const std::string before_id = params["before"].string();
  const auto after_id = params.maybe("after");
  const std::string after_name = after_id ? after_id->string() : std::string();
  const auto around = params.maybe("module");
  const std::string module = around ? around->string() : std::string();
  if (auto error = params.error()) return std::unexpected(*error);
  const auto before = library.open(before_id);
  if (!before) return std::unexpected(gone(before.error()));
  const auto after = library.open(after_name);
  if (!after) return std::unexpected(gone(after.error()));
  const Profile& old_profile = (*before)->profile();
  const Profile& new_profile = (*after)->profile();
  const profile::Diff diff = profile::diff(side_of(*before), side_of(*after));
  const auto blocks = (*after)->blocks(new_profile.representative);
  const auto by_path = blocks_by_path(*blocks, first_blocks(*blocks));
  Json rows = Json::array();
  for (const profile::ModuleRow& row : diff.modules) {
    const bool in_after = row.after.valid();
    const Profile& of = in_after ? new_profile : old_profile;
    const ModuleId id = in_after ? row.after : row.before;
    const ModuleId parent = of.at(id).parent;
    if (around ? !parent.valid() || of.at(parent).path != module : parent.valid()) continue;
    Json json = change_json(row, of, id);
    const auto block = in_after ? by_path.find(of.at(id).path) : by_path.end();
    if (block != by_path.end()) json["path"] = profile::path_of(*blocks, block->second);
    if (rows.size() < kMostRows) rows.push_back(std::move(json));
  }
  Json old_json = profile_json((*before)->id(), old_profile), new_json = profile_json((*after)->id(), new_profile);
  old_json["stepNs"] = diff.step.before.value_or(Ns{}).count();
  new_json["stepNs"] = diff.step.after.value_or(Ns{}).count();
  return Json{{"rows", std::move(rows)}, {"before", std::move(old_json)}, {"after", std::move(new_json)}};
}

}  // namespace hotlens::timeline_requests
