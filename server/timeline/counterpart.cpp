// `hotlens/timeline/counterpart`: the same block in another profile or step, and what `hotlens diff` makes of the difference.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "annotator/profile/statistics.h"
#include "server/features/timeline/facts.h"
#include "server/timeline/changes.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Block;
using blocks::Blocks;
using profile::ModuleId;
using profile::Profile;
using protocol::Answer;
using protocol::Json;
using protocol::Reader;
using Kind = Block::Kind;
using Found = std::optional<std::uint32_t>;

const std::string& module_path(const Blocks& blocks, std::uint32_t block) {
  return blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[block].id]].path;
}

// Calls of a module below a block, with the stage and direction of `like`, in the order of the tree.
std::vector<std::uint32_t> calls_below(const Blocks& blocks, std::uint32_t scope, const std::string& module, const Block& like) {
  std::vector<std::uint32_t> calls;
  const blocks::BlockIndex::Ranks& ranks = blocks.index.ranks[scope];
  for (std::uint32_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const std::uint32_t at = blocks.index.by_rank[rank];
    const Block& block = blocks.blocks[at];
    if (block.kind != Kind::module || block.stage != like.stage || block.direction != like.direction) continue;
    if (module_path(blocks, at) == module) calls.push_back(at);
  }
  return calls;
}

class Search {
 public:
  Search(const Blocks& from, const Blocks& to, const Partner& partner) : from_(from), to_(to), partner_(partner) {}

  Found find(std::uint32_t block) const {
    const Block& of = from_.blocks[block];
    if (block == blocks::kStepBlock) return block;
    if (of.kind == Kind::fold) return fold(block);
    return of.kind == Kind::module ? module(block) : inside(block);
  }

 private:
  std::uint32_t above(std::uint32_t block) const {
    const std::uint32_t parent = from_.blocks[block].parent;
    return from_.blocks[parent].kind == Kind::fold ? from_.blocks[parent].parent : parent;
  }

  Found fold(std::uint32_t block) const {
    const Found first = find(from_.blocks[block].id);
    if (!first) return std::nullopt;
    const std::uint32_t around = to_.blocks[*first].parent;
    const bool is_fold = to_.blocks[around].kind == Kind::fold;
    return is_fold ? Found(around) : std::nullopt;
  }

  Found module(std::uint32_t block) const {
    const std::string& path = module_path(from_, block);
    const auto partner = partner_(path);
    if (!partner) return std::nullopt;
    std::uint32_t scope = above(block);
    Found there = find(scope);
    while (!there) there = find(scope = above(scope));  // the step is in both
    const auto here = calls_below(from_, scope, path, from_.blocks[block]);
    const auto calls = calls_below(to_, *there, *partner, from_.blocks[block]);
    const auto number = static_cast<std::size_t>(std::ranges::find(here, block) - here.begin());
    return number < calls.size() ? Found(calls[number]) : std::nullopt;
  }

  Found inside(std::uint32_t block) const {
    const Found scope = find(above(block));
    if (!scope) return std::nullopt;
    std::vector<std::string> path = blocks::path_of(to_, *scope);
    path.push_back(blocks::segment_of(from_, block));
    const Found found = blocks::find_block(to_, path);
    return found && to_.blocks[*found].kind == from_.blocks[block].kind ? found : std::nullopt;
  }

  const Blocks& from_;
  const Blocks& to_;
  const Partner& partner_;
};

// What the block is compared with, and on which side of the comparison it stands.
struct Other {
  Library::Shared opened;
  std::size_t step = 0;
  bool is_after = false;
};

Partner partner_in(const Profile& from, const Profile& to, bool to_is_after) {
  std::unordered_map<std::string, std::string> partners;
  const auto& [before, after] = to_is_after ? std::tie(from, to) : std::tie(to, from);
  for (const report::ModulePair& pair : report::match_modules(before, after)) {
    if (!pair.before.valid() || !pair.after.valid()) continue;
    const auto [ours, theirs] = to_is_after ? std::pair(pair.before, pair.after) : std::pair(pair.after, pair.before);
    partners.emplace(from.at(ours).path, to.at(theirs).path);
  }
  return [partners = std::move(partners)](const std::string& path) {
    const auto found = partners.find(path);
    return found == partners.end() ? std::nullopt : std::optional(found->second);
  };
}

std::optional<Json> judged_steps(const Subject& subject, const Other& other, ModuleId module) {
  const Profile& profile = subject.opened->profile();
  const auto [before, after] = other.is_after ? std::pair(subject.step, other.step) : std::pair(other.step, subject.step);
  const Ns longer = std::max(profile.steps[before].wall, profile.steps[after].wall);
  Json json{{"of", module.valid() ? "module" : "step"}};
  if (module.valid()) {
    const ModuleId parent = profile.at(module).parent;
    const auto rows = features::steps_beside(subject.opened->annotated(), profile, before, after, parent);
    const auto row = std::ranges::find(rows, module, [](const features::StepsRow& each) { return each.row.module; });
    if (row == rows.end()) return std::nullopt;
    put_change(json, change_of_steps(*row, profile, longer));
  } else {
    put_change(json, change_of_walls(profile, before, after));
  }
  return json;
}

std::optional<Json> judged_profiles(const Subject& subject, const Other& other, ModuleId module) {
  const report::Diff diff = other.is_after ? report::diff(side_of(subject.opened), side_of(other.opened))
                                           : report::diff(side_of(other.opened), side_of(subject.opened));
  const Block& block = subject.blocks->blocks[subject.block];
  if (module.valid()) {
    const auto row = std::ranges::find(diff.modules, module, other.is_after ? &report::ModuleRow::before : &report::ModuleRow::after);
    if (row == diff.modules.end()) return std::nullopt;
    Json json{{"of", "module"}};
    put_change(json, row->time);
    if (!row->made.empty()) json["made"] = row->made;
    return json;
  }
  if (block.kind == Kind::step) {
    Json json{{"of", "step"}, {"plain", diff.step_plain}};
    put_change(json, diff.step);
    return json;
  }
  const bool device = subject.opened->profile().has_device() && other.opened->profile().has_device();
  const auto& stages = device ? diff.stages_device : diff.stages;
  const auto row = std::ranges::find(stages, attribution::name(block.stage), &report::Row::name);
  if (row == stages.end()) return std::nullopt;
  Json json{{"of", "stage"}};
  put_change(json, row->time);
  return json;
}

// Nothing of what the diff has no row for: operators and kernels of one place, folds.
std::optional<Json> judged(const Subject& subject, const Other& other) {
  const Block& block = subject.blocks->blocks[subject.block];
  const bool one = subject.opened->id() == other.opened->id();
  if (block.kind == Kind::step || (block.kind == Kind::stage && !one)) {
    return one ? judged_steps(subject, other, {}) : judged_profiles(subject, other, {});
  }
  if (block.kind != Kind::module) return std::nullopt;
  const ModuleId module = features::module_of(*subject.blocks, subject.opened->profile(), subject.block);
  if (!module.valid()) return std::nullopt;
  return one ? judged_steps(subject, other, module) : judged_profiles(subject, other, module);
}

}  // namespace

Found counterpart_of(const Blocks& from, std::uint32_t block, const Blocks& to, const Partner& partner) {
  return Search(from, to, partner).find(block);
}

Answer counterpart(Library& library, const Subject& subject, const Reader& params) {
  const std::string id = params["other"].string();
  const std::string side = params["side"].string();
  const auto wanted = params.maybe("otherStep");
  const std::size_t step = wanted ? wanted->unsigned32() : 0;
  if (side != "before" && side != "after") params["side"].fail("before or after");
  if (auto error = params.error()) return std::unexpected(*error);
  const auto opened = library.open(id);
  if (!opened) return std::unexpected(gone(opened.error()));
  const Profile& profile = (*opened)->profile();
  const Other other{.opened = *opened, .step = wanted ? step : profile.representative, .is_after = side == "before"};
  if (other.step >= profile.steps.size()) {
    return std::unexpected(gone({ErrorCode::not_found, "the profile has no step " + std::to_string(other.step), {}}));
  }
  const auto blocks = (*opened)->blocks(other.step);
  const Partner partner = partner_in(subject.opened->profile(), profile, other.is_after);
  Json answer = Json::object();
  if (const Found found = counterpart_of(*subject.blocks, subject.block, *blocks, partner)) {
    answer["path"] = blocks::path_of(*blocks, *found);
  }
  if (auto json = judged(subject, other)) answer["judged"] = std::move(*json);
  return answer;
}

}  // namespace hotlens::timeline_requests
