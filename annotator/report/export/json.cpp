#include <nlohmann/json.hpp>
#include <ostream>

#include "annotator/report/export/json.h"
#include "annotator/report/json.h"

namespace hotlens::report {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json numbers(const std::vector<Ns>& values) {
  Json json = Json::array();
  for (const Ns value : values) json.push_back(value.count());
  return json;
}

// Columns of one direction, one number per step.
Json columns(const profile::PerStep& steps) {
  const auto column = [&](Ns profile::Times::* field) {
    Json json = Json::array();
    for (const profile::Times& times : steps) json.push_back((times.*field).count());
    return json;
  };
  return {{"cpu_total_ns", column(&profile::Times::cpu_total)},
          {"cpu_self_ns", column(&profile::Times::cpu_self)},
          {"device_ns", column(&profile::Times::device)},
          {"span_ns", column(&profile::Times::span)},
          {"waiting_ns", column(&profile::Times::waiting)},
          {"idle_before_ns", column(&profile::Times::idle_before)},
          {"idle_inside_ns", column(&profile::Times::idle_inside)},
          {"exposed_communication_ns", column(&profile::Times::exposed_communication)}};
}

Json site_json(const profile::Site& site) {
  Json json = {{"file", site.file.index}, {"line", site.line}, {"end_line", site.end_line}, {"function", site.function}};
  if (site.column) json["character"] = *site.column;
  if (site.end_column) json["end_character"] = *site.end_column;
  return json;
}

Json module_json(const profile::Module& module) {
  Json json = {{"path", module.path}, {"class", module.class_name}, {"calls", module.calls}, {"how", name(module.how)}};
  if (module.parent.valid()) json["parent"] = module.parent.index;
  if (module.same_as.valid()) json["same_as"] = module.same_as.index;
  if (module.memory.parameters) json["parameters_bytes"] = count(*module.memory.parameters);
  json["forward"] = columns(module.forward);
  json["backward"] = module.backward_known ? columns(module.backward) : Json();
  if (module.attached) json["attached"] = site_json(*module.attached);
  if (module.constructed) json["constructed"] = site_json(*module.constructed);
  if (module.class_site) json["class_site"] = site_json(*module.class_site);
  return json;
}

Json line_json(const profile::Line& line) {
  return {{"file", line.file.index},          {"line", line.line},
          {"function", line.function},        {"calls", line.calls},
          {"forward", columns(line.forward)}, {"backward", columns(line.backward)}};
}

Json call_site_json(const profile::CallSite& call) {
  Json modules = Json::array();
  for (const profile::ModuleId module : call.modules) modules.push_back(module.index);
  return {{"site", site_json(call.site)}, {"modules", std::move(modules)}, {"calls", call.calls}};
}

template <class T, class Write>
void write_list(std::ostream& out, const char* key, const std::vector<T>& items, Write write) {
  out << ",\n\"" << key << "\":[";
  for (std::size_t at = 0; at < items.size(); ++at) out << (at == 0 ? "\n" : ",\n") << text(write(items[at]));
  out << "]";
}

}  // namespace

void export_json(const profile::Profile& profile, const std::vector<Ns>& plain_steps, std::ostream& out) {
  out << "{\"schema\":\"hotlens.export/1\",\n\"report\":" << report_json(profile);
  out << ",\n\"representative\":" << profile.representative;
  out << ",\n\"alignment\":" << profile.alignment;
  out << ",\n\"plain_steps_ns\":" << text(numbers(plain_steps));
  if (profile.samples_per_step) out << ",\n\"samples_per_step\":" << *profile.samples_per_step;
  write_list(out, "stages", profile.stages, [](const profile::StageTimes& stage) -> Json {
    return {{"name", name(stage.stage)},
            {"wall_ns", numbers(stage.wall)},
            {"cpu_ns", numbers(stage.cpu)},
            {"device_ns", numbers(stage.device)}};
  });
  write_list(out, "buckets", profile.buckets, [](const profile::BucketTimes& bucket) -> Json {
    return {{"name", name(bucket.bucket)}, {"wall_ns", numbers(bucket.wall)}, {"device_ns", numbers(bucket.device)}};
  });
  write_list(out, "modules", profile.modules, module_json);
  write_list(out, "files", profile.files, [](const profile::SourceFile& file) -> Json {
    return {{"path", file.path.string()}, {"sha256", file.sha256}, {"workspace", file.workspace}};
  });
  write_list(out, "lines", profile.lines, line_json);
  write_list(out, "call_sites", profile.call_sites, call_site_json);
  write_list(out, "stage_sites", profile.stage_sites,
             [](const profile::StageSite& stage) -> Json { return {{"stage", name(stage.stage)}, {"site", site_json(stage.site)}}; });
  out << "\n}\n";
}

}  // namespace hotlens::report
