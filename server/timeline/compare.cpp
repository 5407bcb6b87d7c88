// `hotlens/timeline/compare`: two profiles, or two steps of one, aligned by module.
#include <algorithm>
#include <chrono>
#include <optional>

#include "annotator/profile/statistics.h"
#include "server/timeline/changes.h"
#include "server/timeline/requests.h"
#include "server/timeline/rows.h"

namespace hotlens::timeline_requests {
namespace {

using profile::ModuleId;
using profile::Profile;
using protocol::Answer;
using protocol::Json;
using protocol::Reader;

constexpr std::int64_t kVisible = 200;  // of two steps alone, a difference is shown as one from this part of the longer one on

Json change_json(const report::ModuleRow& row, const Profile& profile, ModuleId id) {
  const profile::Module& module = profile.at(id);
  Json json{{"module", row.path}, {"class", cut(module.class_name)}, {"children", module.children.size()}};
  put_change(json, row.time);
  return json;
}

// The times that a row's spread over all steps is told by: its module's or its stage's, else the step's own.
std::vector<Ns> times_by_step(const features::BreakdownRow& row, const Profile& profile) {
  if (row.kind == features::BreakdownRow::Kind::stage) {
    const auto stage = std::ranges::find(profile.stages, row.stage, &profile::StageTimes::stage);
    if (stage != profile.stages.end()) return profile.has_device() ? stage->device : stage->wall;
  }
  return row.module.valid() ? profile::headlines(profile.at(row.module), profile.has_device()) : profile::walls(profile.steps);
}

report::Outcome outcome(const report::Change& change, Ns noise) {
  if (!change.before) return report::Outcome::added;
  if (!change.after) return report::Outcome::removed;
  if (std::chrono::abs(change.difference()) <= noise) return report::Outcome::same;
  return change.difference() > Ns{} ? report::Outcome::slower : report::Outcome::faster;
}

Json step_side(const Opened& opened, std::size_t step) {
  Json json = profile_json(opened.id(), opened.profile());
  json["step"] = step;
  json["stepNs"] = opened.profile().steps[step].wall.count();
  return json;
}

Answer compare_steps(const Opened& before, std::size_t before_step, const Opened& after, std::size_t after_step, const Reader& params) {
  const Profile& profile = after.profile();
  if (before.id() != after.id()) params["before"].fail("the same profile as after, where steps are compared");
  if (std::max(before_step, after_step) >= profile.steps.size()) {
    return std::unexpected(
        gone({ErrorCode::not_found, "the profile has no step " + std::to_string(std::max(before_step, after_step)), {}}));
  }
  const auto module = module_in(params, profile);
  if (auto error = params.error()) return std::unexpected(*error);
  if (!module) return std::unexpected(module.error());
  const auto blocks = after.blocks(after_step);
  const RowPaths paths(*blocks);
  const Ns longer = std::max(profile.steps[before_step].wall, profile.steps[after_step].wall);
  Json rows = Json::array();
  for (const features::StepsRow& row : features::steps_beside(after.annotated(), profile, before_step, after_step, *module)) {
    if (rows.size() >= kMostRows) break;
    Json json = row_json(row.row, profile);
    for (const char* key : {"value", "parts"}) json.erase(key);
    put_change(json, change_of_steps(row, profile, longer));
    paths.put(json, row.row, profile);
    rows.push_back(std::move(json));
  }
  Json step = Json::object();
  put_change(step, change_of_walls(profile, before_step, after_step));
  return Json{{"step", std::move(step)},
              {"rows", std::move(rows)},
              {"before", step_side(before, before_step)},
              {"after", step_side(after, after_step)}};
}

}  // namespace

report::Side side_of(const Library::Shared& opened) {
  report::Side side{.profile = std::shared_ptr<const Profile>(opened, &opened->profile())};
  if (opened->annotated().manifest) side.plain_steps = opened->annotated().manifest->plain_steps;
  return side;
}

void put_change(Json& json, const report::Change& change) {
  json["change"] = report::name(change.outcome);
  if (change.before) json["before"] = change.before->count();
  if (change.after) json["after"] = change.after->count();
  if (change.noise) json["noise"] = change.noise->count();
}

report::Change change_of_steps(const features::StepsRow& row, const Profile& profile, Ns longer) {
  const auto time = [](std::optional<std::int64_t> count) { return count ? std::optional(Ns(*count)) : std::nullopt; };
  report::Change change{
      .before = time(row.before), .after = time(row.after), .noise = profile::noise_of_steps(times_by_step(row.row, profile))};
  change.outcome = outcome(change, change.noise.value_or(longer / kVisible));
  return change;
}

report::Change change_of_walls(const Profile& profile, std::size_t before, std::size_t after) {
  const Ns walls[] = {profile.steps[before].wall, profile.steps[after].wall};
  const features::StepsRow whole{.row = {.kind = features::BreakdownRow::Kind::own}, .before = walls[0].count(), .after = walls[1].count()};
  return change_of_steps(whole, profile, std::max(walls[0], walls[1]));
}

Answer compare(Library& library, const Reader& params) {
  const std::string before_id = params["before"].string();
  const auto after_id = params.maybe("after");
  const std::string after_name = after_id ? after_id->string() : std::string();
  const auto around = params.maybe("module");
  const std::string module = around ? around->string() : std::string();
  const auto before_step = params.maybe("beforeStep"), after_step = params.maybe("afterStep");
  const std::uint32_t first = before_step ? before_step->unsigned32() : 0, second = after_step ? after_step->unsigned32() : 0;
  if (auto error = params.error()) return std::unexpected(*error);
  const auto before = library.open(before_id);
  if (!before) return std::unexpected(gone(before.error()));
  const auto after = library.open(after_name);
  if (!after) return std::unexpected(gone(after.error()));
  if (before_step || after_step) return compare_steps(**before, first, **after, second, params);
  const Profile& old_profile = (*before)->profile();
  const Profile& new_profile = (*after)->profile();
  const report::Diff diff = report::diff(side_of(*before), side_of(*after));
  const auto blocks = (*after)->blocks(new_profile.representative);
  const RowPaths paths(*blocks);
  Json rows = Json::array();
  for (const report::ModuleRow& row : diff.modules) {
    const bool in_after = row.after.valid();
    const Profile& of = in_after ? new_profile : old_profile;
    const ModuleId id = in_after ? row.after : row.before;
    const ModuleId parent = of.at(id).parent;
    if (around ? !parent.valid() || of.at(parent).path != module : parent.valid()) continue;
    Json json = change_json(row, of, id);
    if (in_after) paths.put(json, of.at(id));
    if (rows.size() < kMostRows) rows.push_back(std::move(json));
  }
  Json old_json = profile_json((*before)->id(), old_profile), new_json = profile_json((*after)->id(), new_profile);
  old_json["stepNs"] = diff.step.before.value_or(Ns{}).count();
  new_json["stepNs"] = diff.step.after.value_or(Ns{}).count();
  Json step = Json::object();
  put_change(step, diff.step);
  return Json{{"step", std::move(step)}, {"rows", std::move(rows)}, {"before", std::move(old_json)}, {"after", std::move(new_json)}};
}

}  // namespace hotlens::timeline_requests
