// `hotlens/timeline/profiles` and `overview`: what is there, and what a step of it is made of.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "annotator/causes/verdict.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/main_model.h"
#include "annotator/profile/statistics.h"
#include "server/features/timeline/facts.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using profile::Profile;
using protocol::Answer;
using protocol::Json;

void put_text(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

bool has_line(const profile::Module& module) {
  return module.attached || module.constructed || module.class_site;
}

// A trace lists every device of its machine; those that did nothing in it say nothing about the training.
std::vector<std::string> used_devices(const Opened& opened) {
  const auto& [trace, work] = std::tie(opened.annotated().trace, opened.annotated().account.work);
  std::vector<std::string> names;
  if (trace.devices.empty() || !opened.profile().folder.empty()) {
    for (const profile::Device& device : opened.profile().devices) names.push_back(device.name);
    return names;
  }
  std::set<std::string> used;
  for (const auto& each : work) used.insert(trace.threads[each.stream.index].process);
  for (const auto& device : trace.devices) {
    if (used.contains(std::to_string(device.id))) names.push_back(device.name);
  }
  return names;
}

Json about(const Opened& opened) {
  const Profile& profile = opened.profile();
  Json json = profile_json(opened.id(), profile);
  json["devices"] = used_devices(opened);
  json["guessed"] = profile.guessed && std::ranges::any_of(profile.modules, has_line);
  if (std::string model = profile::main_model(profile); !model.empty()) json["model"] = std::move(model);
  const Ns step = profile.plain_step.value_or(profile.step_wall());
  if (profile.plain_step) json["plainStepNs"] = profile.plain_step->count();
  if (profile.loop) {
    const profile::Update update = mean_update(*profile.loop);
    if (!is_negligible(update)) json["rareNs"] = update.rare.count();
  }
  if (profile.samples_per_step && step > Ns{}) {
    json["samplesPerSecond"] = static_cast<double>(*profile.samples_per_step) * 1e9 / static_cast<double>(step.count());
  }
  return json;
}

Json steps_of(const Profile& profile) {
  Json list = Json::array();
  for (const profile::Step& step : profile.steps) {
    Json differences = Json::array();
    for (const profile::Difference& difference : step.differences) {
      differences.push_back({{"what", difference.what}, {"excess", difference.excess.count()}});
    }
    list.push_back({{"index", step.index},
                    {"wall", step.wall.count()},
                    {"device", step.device.count()},
                    {"outlier", step.outlier},
                    {"differences", std::move(differences)}});
  }
  return list;
}

Json stages_of(const Profile& profile) {
  Json list = Json::array();
  for (const profile::StageTimes& stage : profile.stages) {
    list.push_back({{"stage", name(stage.stage)},
                    {"wall", profile.shown(stage.wall).count()},
                    {"device", profile.shown(stage.device).count()},
                    {"waiting", profile.shown(stage.waiting).count()}});
  }
  return list;
}

Json buckets_of(const Profile& profile) {
  Json list = Json::array();
  for (const profile::BucketTimes& bucket : profile.buckets) {
    const Ns wall = profile.shown(bucket.wall), device = profile.shown(bucket.device);
    if (wall > Ns{} || device > Ns{}) {
      list.push_back({{"bucket", name(bucket.bucket)}, {"wall", wall.count()}, {"device", device.count()}});
    }
  }
  return list;
}

// What was held at most, when that was, and what was held when the step began; what the allocator did not count is in both.
void put_memory(Json& answer, const Profile& profile, const blocks::Blocks* blocks) {
  const profile::MemoryAtPeak& peak = profile.at_peak;
  if (!peak.moment) return;
  answer["memoryPeak"] = count(peak.total);
  if (profile.memory_start) answer["memoryStart"] = hotlens::count(*profile.memory_start) + hotlens::count(peak.outside);
  Json when{{"stage", name(peak.moment->stage)}};
  if (!peak.moment->of_map) when["time"] = peak.moment->time.count();
  if (peak.moment->module.valid()) {
    const std::string& module = profile.at(peak.moment->module).path;
    when["module"] = module;
    const auto block = blocks ? features::first_of_module(*blocks, module) : std::nullopt;
    if (block) when["path"] = blocks::path_of(*blocks, *block);
  }
  answer["memoryPeakAt"] = std::move(when);
}

// Of a list of modules, which is never called itself, the first of those in it.
std::optional<std::uint32_t> first_block(const Profile& profile, const blocks::Blocks& blocks, const profile::Module& module) {
  if (const auto block = features::first_of_module(blocks, module.path)) return block;
  for (const profile::ModuleId child : module.children) {
    if (const auto block = first_block(profile, blocks, profile.at(child))) return block;
  }
  return std::nullopt;
}

// The first block of the module or the stage that a verdict's evidence names: a module by its path, a root by its class, a stage by its
// line.
std::optional<std::uint32_t> block_of(const std::string& where, const Profile& profile, const blocks::Blocks& blocks) {
  if (where.empty()) return std::nullopt;
  const auto named = [&](const profile::Module& module) { return (module.path.empty() ? module.class_name : module.path) == where; };
  const auto module = std::ranges::find_if(profile.modules, named);
  if (module != profile.modules.end()) return first_block(profile, blocks, *module);
  const auto line =
      std::ranges::find(profile.stage_sites, where, [&](const profile::StageSite& stage) { return causes::place_of(profile, stage); });
  return line == profile.stage_sites.end() ? std::nullopt : features::first_of_stage(blocks, line->stage);
}

Json evidence_of(const std::vector<profile::Verdict::Evidence>& evidence, const Profile& profile, const blocks::Blocks* blocks) {
  Json list = Json::array();
  for (const profile::Verdict::Evidence& item : evidence) {
    Json json{{"what", item.what}, {"time", item.time.count()}, {"where", item.where}};
    const auto block = blocks != nullptr ? block_of(item.where, profile, *blocks) : std::nullopt;
    if (block) json["path"] = blocks::path_of(*blocks, *block);
    list.push_back(std::move(json));
  }
  return list;
}

Json findings_of(const Profile& profile, const blocks::Blocks* blocks) {
  Json list = Json::array();
  const auto step = static_cast<double>(profile::step_time(profile::mean_update(profile)).count());
  for (const profile::Finding& finding : profile.findings) {
    Json json{{"kind", finding.kind},
              {"title", finding.title},
              {"low", finding.least_ratio},
              {"savedAtMost", std::llround(step * (1 - finding.least_ratio))},
              {"evidence", evidence_of(finding.evidence, profile, blocks)},
              {"assumes", finding.assumes}};
    if (finding.only_measured) json["onlyMeasured"] = true;
    put_text(json, "file", finding.file);
    if (finding.line) json["line"] = *finding.line;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json profile_json(const std::string& id, const Profile& profile) {
  Json json{{"id", id}, {"source", profile.source}};
  put_text(json, "created", profile.created);
  put_text(json, "torch", profile.torch);
  return json;
}

Json verdict_json(const profile::Verdict& verdict, const Profile& profile, const blocks::Blocks* blocks) {
  return {{"kind", verdict.kind}, {"evidence", evidence_of(verdict.evidence, profile, blocks)}};
}

Answer profiles(Library& library) {
  Json list = Json::array();
  for (const Entry& entry : library.profiles()) {
    Json json{{"id", entry.id}, {"source", entry.source}};
    put_text(json, "created", entry.created);
    put_text(json, "torch", entry.torch);
    put_text(json, "device", entry.device);
    if (entry.step) json["stepNs"] = entry.step->count();
    using std::chrono::milliseconds;
    if (entry.written != std::filesystem::file_time_type::min()) {
      json["written"] = std::chrono::duration_cast<milliseconds>(entry.written.time_since_epoch()).count();
    }
    list.push_back(std::move(json));
  }
  Json answer{{"profiles", std::move(list)}};
  put_text(answer, "current", library.current());
  return answer;
}

Answer overview(Library& library, const Opened& opened) {
  const Profile& profile = opened.profile();
  const profile::Spread spread = profile::spread(profile::walls(profile.steps));
  Json warnings = Json::array(), others = Json::array();
  for (const Issue& warning : profile.warnings) warnings.push_back(warning.message);
  for (const Entry& entry : library.profiles()) {
    if (entry.id != opened.id()) others.push_back(entry.id);
  }
  const auto blocks = profile.steps.empty() ? nullptr : opened.blocks(profile.representative);
  Json answer{{"profile", about(opened)},
              {"steps", steps_of(profile)},
              {"representative", profile.representative},
              {"median", spread.median.count()},
              {"p10", spread.p10.count()},
              {"p90", spread.p90.count()},
              {"hasDevice", profile.has_device()},
              {"stages", stages_of(profile)},
              {"buckets", buckets_of(profile)},
              {"verdict", verdict_json(profile.verdict, profile, blocks.get())},
              {"findings", findings_of(profile, blocks.get())},
              {"warnings", std::move(warnings)},
              {"compareWith", std::move(others)}};
  if (const auto& half = profile.sensitivity) answer["sensitivity"] = {{"kernels", half->kernels}, {"host", half->host}};
  if (const auto& less = profile.communication_sensitivity) {
    answer["communicationSensitivity"] = {{"hidden", less->hidden}, {"without", less->without}};
  }
  put_memory(answer, profile, blocks.get());
  const auto& devices = opened.annotated().trace.devices;
  const auto capacity = std::ranges::find_if(devices, [](const trace::Device& device) { return device.memory_bytes > 0; });
  if (capacity != devices.end()) answer["memoryCapacity"] = capacity->memory_bytes;
  return answer;
}

}  // namespace hotlens::timeline_requests
