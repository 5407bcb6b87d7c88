#include "server/timeline/rows.h"

#include <algorithm>

#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {

using blocks::Block;
using blocks::Blocks;
using profile::ModuleId;
using profile::Profile;
using protocol::Json;
using protocol::Reader;
using protocol::RpcError;

std::string cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "…";
}

void put_place(Json& row, const Profile& profile, const std::optional<profile::Site>& site) {
  if (!site || site->file.index >= profile.files.size()) return;
  row["file"] = profile.files[site->file.index].path.string();
  row["line"] = site->line;
}

RowPaths::RowPaths(const Blocks& blocks) : blocks_(blocks) {
  for (const blocks::BlockIndex::Name& name : blocks.index.names) {
    const std::uint32_t at = blocks.index.by_rank[blocks.index.name_rank[name.begin]];
    const Block& block = blocks.blocks[at];
    if (name.kind == Block::Kind::module) modules_.try_emplace(blocks.modules[blocks.annotated->owners.calls.value[block.id]].path, at);
    if (name.kind == Block::Kind::stage) stages_.try_emplace(block.stage, at);
  }
}

void RowPaths::put(Json& row, const profile::Module& module) const {
  const auto block = modules_.find(module.path);
  if (block != modules_.end()) row["path"] = blocks::path_of(blocks_, block->second);
}

void RowPaths::put(Json& row, const features::BreakdownRow& of, const Profile& profile) const {
  if (of.module.valid()) return put(row, profile.at(of.module));
  const auto stage = stages_.find(of.stage);
  if (of.kind == features::BreakdownRow::Kind::stage && stage != stages_.end()) row["path"] = blocks::path_of(blocks_, stage->second);
}

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

}  // namespace hotlens::timeline_requests
