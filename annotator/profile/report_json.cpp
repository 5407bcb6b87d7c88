#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotator/profile/report.h"
#include "annotator/profile/statistics.h"

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
  return run;
}

Json steps_of(const Profile& profile) {
  Json steps = Json::array();
  for (const Step& step : profile.steps) {
    steps.push_back({{"index", step.index},
                     {"start_ns", step.start.count()},
                     {"wall_ns", step.wall.count()},
                     {"device_ns", step.device.count()},
                     {"outlier", step.outlier}});
  }
  return steps;
}

Json stages_of(const Profile& profile) {
  Json stages = Json::array();
  for (const StageTimes& stage : profile.stages) {
    const Ns wall = median(stage.wall);
    stages.push_back({{"name", name(stage.stage)},
                      {"wall_ns", wall.count()},
                      {"cpu_ns", median(stage.cpu).count()},
                      {"device_ns", median(stage.device).count()},
                      {"share", share(wall, profile.step_wall())}});
  }
  return stages;
}

Json times_of(const Times& times) {
  return {{"cpu_total_ns", times.cpu_total.count()},
          {"cpu_self_ns", times.cpu_self.count()},
          {"device_ns", times.device.count()},
          {"span_ns", times.span.count()}};
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
  return json;
}

Json modules_of(const Profile& profile) {
  Json modules = Json::array();
  for (const Module& module : profile.modules) {
    modules.push_back({{"path", module.path},
                       {"class", module.class_name},
                       {"calls", module.calls},
                       {"forward", times_of(median(module.forward))},
                       {"backward", times_of(median(module.backward))},
                       {"memory", memory_of(module.memory)},
                       {"how", name(module.how)}});
  }
  return modules;
}

Json verdict_of(const Verdict& verdict) {
  Json json = {{"kind", verdict.kind}, {"evidence", Json::array()}};
  for (const Verdict::Evidence& evidence : verdict.evidence) {
    json["evidence"].push_back({{"what", evidence.what}, {"ns", evidence.time.count()}, {"where", evidence.where}});
  }
  return json;
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
  return {{"wall_ns", step.wall.count()},
          {"cpu_ns", profile.cpu.count()},
          {"device_ns", step.device.count()},
          {"device_attributed_ns", profile.device_attributed.count()},
          {"cpu_attributed_ns", profile.cpu_attributed.count()}};
}

}  // namespace

std::string report_json(const Profile& profile) {
  const Json report = {{"schema", "hotlens.report/1"},    {"profile", run_of(profile)},
                       {"steps", steps_of(profile)},      {"stages", stages_of(profile)},
                       {"buckets", buckets_of(profile)},  {"modules", modules_of(profile)},
                       {"totals", totals_of(profile)},    {"verdict", verdict_of(profile.verdict)},
                       {"warnings", warnings_of(profile)}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hotlens::profile
