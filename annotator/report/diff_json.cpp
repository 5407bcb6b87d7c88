#include <nlohmann/json.hpp>

#include "annotator/report/diff.h"
#include "annotator/report/ranks.h"

namespace hotlens::report {
namespace {

using Json = nlohmann::ordered_json;

Json change_json(const Change& change) {
  Json json = {{"outcome", name(change.outcome)}};
  if (change.before) json["old_ns"] = change.before->count();
  if (change.after) json["new_ns"] = change.after->count();
  if (change.before && change.after) {
    json["change_ns"] = change.difference().count();
    if (*change.before > Ns{}) json["ratio"] = static_cast<double>(change.after->count()) / static_cast<double>(change.before->count());
  }
  if (change.noise) json["noise_ns"] = change.noise->count();
  return json;
}

Json row_json(const Row& row) {
  Json json = {{"name", row.name}};
  json.update(change_json(row.time));
  if (row.before_calls) json["old_calls"] = *row.before_calls;
  if (row.after_calls) json["new_calls"] = *row.after_calls;
  return json;
}

Json rows_json(const std::vector<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(row_json(row));
  return json;
}

// What is known of a module on one side, under keys that name the side.
void describe(Json& json, const profile::Profile& profile, profile::ModuleId id, const std::string& side) {
  if (!id.valid()) return;
  const profile::Module& module = profile.at(id);
  json[side + "_path"] = module.path;
  json[side + "_class"] = module.class_name;
  json[side + "_calls"] = module.calls;
  if (module.memory.parameters) json[side + "_parameters_bytes"] = count(*module.memory.parameters);
}

Json modules_json(const Diff& diff, const profile::Profile& before, const profile::Profile& after) {
  Json json = Json::array();
  for (const ModuleRow& row : diff.modules) {
    Json entry = {{"path", row.path}};
    describe(entry, before, row.before, "old");
    describe(entry, after, row.after, "new");
    entry.update(change_json(row.time));
    entry["explains"] = row.explains;
    if (!row.made.empty()) entry["made"] = row.made;
    entry["forward"] = change_json(row.forward);
    entry["backward"] = row.backward_known ? change_json(row.backward) : Json();
    entry["forward_host"] = change_json(row.forward_host);
    entry["backward_host"] = row.backward_known ? change_json(row.backward_host) : Json();
    json.push_back(std::move(entry));
  }
  return json;
}

Json side_json(const Side& side, const std::vector<std::string>& runs) {
  const profile::Profile& profile = *side.profile;
  Json json = {{"id", profile.id}, {"source", profile.source}};
  if (runs.size() > 1) json["runs"] = runs;
  if (!profile.torch.empty()) json["torch"] = profile.torch;
  json["devices"] = Json::array();
  for (const profile::Device& device : profile.devices) json["devices"].push_back({{"name", device.name}, {"kind", device.kind}});
  json["steps"] = profile.steps.size();
  json["plain_steps"] = side.plain_steps.size();
  if (!profile.step_by.empty()) json["step_by"] = profile.step_by;
  if (profile.samples_per_step) json["samples_per_step"] = *profile.samples_per_step;
  json["measure"] = profile.has_device() ? "device" : "host";
  return json;
}

Json gate_json(const Gate& gate) {
  Json json = {{"threshold", gate.threshold},
               {"compared", gate.compared},
               {"crossed", gate.crossed},
               {"noise_unknown", gate.unknown_noise},
               {"noisier", gate.noisier}};
  if (!gate.modules.empty()) json["modules"] = gate.modules;
  return json;
}

Json ranks_json(const ranks::RankSet& before, const ranks::RankSet& after) {
  Json rows = Json::array();
  for (const ranks::RankTotals& rank : after.ranks) {
    const auto old = std::ranges::find(before.ranks, rank.rank, &ranks::RankTotals::rank);
    if (old == before.ranks.end()) continue;
    const RankMeans was = means(*old), is = means(rank);
    rows.push_back({{"rank", rank.rank},
                    {"old_wall_ns", was.wall.count()},
                    {"new_wall_ns", is.wall.count()},
                    {"old_waiting_ns", was.waiting.count()},
                    {"new_waiting_ns", is.waiting.count()}});
  }
  return {{"old", ranks_sentence(before)}, {"new", ranks_sentence(after)}, {"rows", std::move(rows)}};
}

}  // namespace

std::string diff_json(const Diff& diff, const Side& before, const Side& after, const std::optional<Gate>& gate) {
  Json step = {{"steps", diff.step_plain ? "plain" : "profiled"}};
  step.update(change_json(diff.step));
  Json json = {{"schema", "hotlens.diff/1"},
               {"old", side_json(before, diff.before_runs)},
               {"new", side_json(after, diff.after_runs)},
               {"step", std::move(step)},
               {"totals", rows_json(diff.totals)},
               {"stages", rows_json(diff.stages)},
               {"stages_device", rows_json(diff.stages_device)},
               {"buckets", rows_json(diff.buckets)},
               {"modules", modules_json(diff, *before.profile, *after.profile)},
               {"operators", rows_json(diff.operators)},
               {"kernels", rows_json(diff.kernels)},
               {"families", rows_json(diff.families)}};
  if (before.ranks && after.ranks) json["ranks"] = ranks_json(*before.ranks, *after.ranks);
  if (gate) json["gate"] = gate_json(*gate);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hotlens::report
