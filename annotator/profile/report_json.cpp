#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "annotator/profile/report.h"
#include "annotator/profile/statistics.h"
#include "annotator/profile/verdict.h"

namespace hotlens::profile {
namespace {

using Json = nlohmann::ordered_json;

// Parts per step, so that shares of a table add up to 1 but for rounding.
double share(Ns part, Ns whole) {
  return whole > Ns{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
}

Json run_of(const Profile& profile) {
  Json run = {{"id", profile.id}, {"source", profile.source}};
  if (!profile.torch.empty()) run["torch"] = profile.torch;
  run["devices"] = Json::array();
  for (const Device& device : profile.devices) run["devices"].push_back({{"name", device.name}, {"kind", device.kind}});
  run["steps"] = profile.steps.size();
  if (profile.plain_step) run["plain_step_ns"] = profile.plain_step->count();
  if (profile.profiled_step) run["profiled_step_ns"] = profile.profiled_step->count();
  if (!profile.ranks.empty()) run["rank"] = profile.rank;
  for (const RankTimes& one : profile.ranks) {
    Json row = {{"rank", one.rank}};
    if (one.plain_step) row["plain_step_ns"] = one.plain_step->count();
    if (one.profiled_step) row["profiled_step_ns"] = one.profiled_step->count();
    run["ranks"].push_back(std::move(row));
  }
  return run;
}

Json steps_of(const Profile& profile) {
  Json steps = Json::array();
  const bool device = profile.has_device();
  for (const Step& step : profile.steps) {
    steps.push_back({{"index", step.index},
                     {"start_ns", step.start.count()},
                     {"wall_ns", step.wall.count()},
                     {"device_ns", step.device.count()},
                     {"outlier", step.outlier}});
    Json& row = steps.back();
    if (step.confidence) row["confidence"] = *step.confidence;
    if (device) {
      row["idle_ns"] = (step.wall - step.device).count();
      row["carried_ns"] = step.carried.count();
      row["communication_ns"] = step.communication.count();
      row["exposed_communication_ns"] = step.exposed_communication.count();
    }
    for (const Difference& each : step.differences) row["differences"].push_back({{"what", each.what}, {"excess_ns", each.excess.count()}});
  }
  return steps;
}

Json stages_of(const Profile& profile) {
  Json stages = Json::array();
  for (const StageTimes& stage : profile.stages) {
    const Spread wall = spread(stage.wall);
    stages.push_back({{"name", name(stage.stage)},
                      {"wall_ns", wall.median.count()},
                      {"p10_ns", wall.p10.count()},
                      {"p90_ns", wall.p90.count()},
                      {"waiting_ns", median(stage.waiting).count()},
                      {"cpu_ns", median(stage.cpu).count()},
                      {"device_ns", median(stage.device).count()},
                      {"share", share(wall.median, profile.step_wall())}});
  }
  return stages;
}

// A part of `backward`; nothing where no forward runs again.
Json recompute_of(const PerStep& backward) {
  const Times times = median(backward);
  if (times.recompute_cpu == Ns{} && times.recompute_device == Ns{}) return {};
  return {{"cpu_total_ns", times.recompute_cpu.count()}, {"device_ns", times.recompute_device.count()}};
}

// p10 and p90 are of the number that is shown: device time where there is a device, else host time.
Json times_of(const PerStep& steps, bool has_device) {
  const Times times = median(steps);
  std::vector<Ns> shown(steps.size());
  std::ranges::transform(steps, shown.begin(), [&](const Times& each) { return headline(each, has_device); });
  const Spread band = spread(std::move(shown));
  Json json = {{"cpu_total_ns", times.cpu_total.count()},
               {"cpu_self_ns", times.cpu_self.count()},
               {"device_ns", times.device.count()},
               {"span_ns", times.span.count()},
               {"waiting_ns", times.waiting.count()},
               {"p10_ns", band.p10.count()},
               {"p90_ns", band.p90.count()}};
  if (!has_device) return json;
  json["idle_before_ns"] = times.idle_before.count();
  json["idle_inside_ns"] = times.idle_inside.count();
  json["exposed_communication_ns"] = times.exposed_communication.count();
  return json;
}

Json kernels_of(const std::vector<KernelUse>& uses) {
  Json json = Json::array();
  for (const KernelUse& use : uses) json.push_back({{"kernel", use.kernel.index}, {"calls", use.calls}, {"ns", use.time.count()}});
  return json;
}

// The representative step's kernels, or operators on a run without device work; modules refer to them by position.
Json kernel_table(const Profile& profile) {
  Json json = Json::array();
  for (const Kernel& kernel : profile.kernels) {
    json.push_back({{"name", kernel.name}, {"family", name(kernel.parts.family)}, {"label", kernel.parts.label}});
    if (!kernel.parts.type.empty()) json.back()["type"] = kernel.parts.type;
    if (!kernel.parts.tile.empty()) json.back()["tile"] = kernel.parts.tile;
  }
  for (const KernelUse& use : profile.kernel_times) {
    json[use.kernel.index]["calls"] = use.calls;
    json[use.kernel.index]["ns"] = use.time.count();
  }
  return json;
}

Json causes_of(const Causes& causes) {
  Json json = Json::object();
  for (std::size_t cause = 0; cause < kCauses; ++cause) json[std::string(name(static_cast<Cause>(cause))) + "_ns"] = causes[cause].count();
  return json;
}

Json memory_of(const Memory& memory) {
  Json json = Json::object();
  const auto add = [&](const char* key, const std::optional<Bytes>& bytes) {
    if (bytes) json[key] = count(*bytes);
  };
  add("parameters_bytes", memory.parameters);
  add("gradients_bytes", memory.gradients);
  add("optimizer_bytes", memory.optimizer);
  add("activations_bytes", memory.activations);
  add("temporary_bytes", memory.temporary);
  return json;
}

Json verdict_of(const Verdict& verdict) {
  Json json = {{"kind", verdict.kind}, {"evidence", Json::array()}};
  for (const Verdict::Evidence& evidence : verdict.evidence) {
    json["evidence"].push_back({{"what", evidence.what}, {"ns", evidence.time.count()}, {"where", evidence.where}});
  }
  return json;
}

Json modules_of(const Profile& profile) {
  Json modules = Json::array();
  const bool device = profile.has_device();
  for (std::uint32_t at = 0; at < profile.modules.size(); ++at) {
    const Module& module = profile.modules[at];
    const std::array own = {ModuleId{at}};
    modules.push_back({{"path", module.path},
                       {"class", module.class_name},
                       {"calls", module.calls},
                       {"forward", times_of(module.forward, device)},
                       {"backward", times_of(module.backward, device)},
                       {"memory", memory_of(module.memory)},
                       {"kernels", kernels_of(module.kernels)},
                       {"verdict", verdict_of(judge(profile, own))},
                       {"how", name(module.how)}});
    if (Json again = recompute_of(module.backward); !again.is_null()) modules.back()["recompute"] = std::move(again);
  }
  return modules;
}

Json warnings_of(const Profile& profile) {
  Json warnings = Json::array();
  for (const Issue& issue : profile.warnings) {
    warnings.push_back({{"code", issue.code}, {"message", issue.message}, {"count", issue.count}});
  }
  return warnings;
}

// Medians of buckets need not add up to the median step. Shown are the buckets of one real step, the representative one, where they do.
Json buckets_of(const Profile& profile) {
  Json buckets = Json::array();
  for (const BucketTimes& bucket : profile.buckets) {
    buckets.push_back({{"name", name(bucket.bucket)},
                       {"wall_ns", bucket.wall.at(profile.representative).count()},
                       {"device_ns", bucket.device.at(profile.representative).count()}});
  }
  return buckets;
}

Json totals_of(const Profile& profile) {
  const Step& step = profile.steps.at(profile.representative);
  std::vector<Ns> walls;
  for (const Step& each : profile.steps) walls.push_back(each.wall);
  const Spread band = spread(std::move(walls));
  Json json = {{"wall_ns", step.wall.count()},
               {"p10_ns", band.p10.count()},
               {"p90_ns", band.p90.count()},
               {"cpu_ns", profile.cpu.count()},
               {"device_ns", step.device.count()},
               {"device_attributed_ns", profile.device_attributed.count()},
               {"cpu_attributed_ns", profile.cpu_attributed.count()}};
  if (profile.memory_peak) json["memory_peak_bytes"] = count(*profile.memory_peak);
  if (profile.memory_start) json["memory_start_bytes"] = count(*profile.memory_start);
  return json;
}

}  // namespace

std::string report_json(const Profile& profile) {
  const Json report = {{"schema", "hotlens.report/1"},
                       {"profile", run_of(profile)},
                       {"steps", steps_of(profile)},
                       {"stages", stages_of(profile)},
                       {"buckets", buckets_of(profile)},
                       {"modules", modules_of(profile)},
                       {"kernels", kernel_table(profile)},
                       {"totals", totals_of(profile)},
                       {"spent", causes_of(profile.spent)},
                       {"critical_path", causes_of(profile.critical)},
                       {"verdict", verdict_of(profile.verdict)},
                       {"warnings", warnings_of(profile)}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hotlens::profile
