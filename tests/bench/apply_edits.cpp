// Makes one what-if as an edit of one file, as `hotlens whatif KIND --apply` does, from a place that is told instead of recorded. For
// apply_edits.py: a request a line in, an answer a line out.
//
// {"file":PATH,"kind":"autocast_bf16","hide":[[begin,end]],"model":MODEL}; MODEL is what model.json of a bundle holds of files, modules,
// calls and stages. `hide`: bytes that the edit must not see as names, where a file makes several of what a script has one of.
// {"edits":[{"line":…,"character":…,"end_line":…,"end_character":…,"text":…}]} after the file was written, or {"reason":SENTENCE}.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "annotator/advice/edits/edits.h"
#include "annotator/common/file.h"

namespace {

using namespace hotlens;
using nlohmann::json;
namespace fs = std::filesystem;

profile::Site site_of(const json& given) {
  return {.file = profile::FileId{0},
          .line = given.at("line"),
          .end_line = given.at("end_line"),
          .column = given.at("column").get<std::uint32_t>(),
          .end_column = given.at("end_column").get<std::uint32_t>(),
          .function = {}};
}

attribution::Stage stage_named(const std::string& name) {
  using attribution::Stage;
  if (name == "data") return Stage::data;
  if (name == "forward") return Stage::forward;
  if (name == "loss") return Stage::loss;
  return Stage::optimizer;
}

advice::Sources sources_of(const json& ask, const std::string& text) {
  const fs::path path = ask.at("file").get<std::string>();
  advice::Sources sources;
  sources.loader_workers = 1;
  sources.files.push_back({.path = path, .text = text});
  sources.model.files.push_back({.path = path, .copy = path, .sha256 = {}, .text = {}, .workspace = true});
  for (const json& stage : ask.value("stages", json::array())) {
    sources.model.stages.push_back({.site = site_of(stage.at("site")), .stage = stage_named(stage.at("stage"))});
  }
  for (const json& layer : ask.value("layers", json::array())) {
    profile::ModelModule module;
    module.path = layer.at("path");
    module.class_name = layer.at("class");
    if (layer.contains("attached")) module.attached = site_of(layer["attached"]);
    sources.model.modules.push_back(std::move(module));
    if (!layer.contains("called")) continue;
    const auto index = static_cast<std::uint32_t>(sources.model.modules.size() - 1);
    sources.model.calls.push_back({.module = index, .parent = attribution::kNothing, .site = site_of(layer["called"])});
  }
  return sources;
}

std::string hidden(std::string text, const json& ask) {
  for (const json& span : ask.value("hide", json::array())) {
    for (std::size_t at = span.at(0); at < span.at(1); ++at) {
      if (text.at(at) == '.' || at == span.at(0)) text[at] = '_';
    }
  }
  return text;
}

json answer(const json& ask) {
  const auto text = read_file(ask.at("file").get<std::string>(), kMostSource);
  if (!text) return {{"reason", text.error().message}};
  advice::Sources sources = sources_of(ask, hidden(*text, ask));
  lab::Part part{.kind = ask.at("kind"), .modules = {}};
  for (const profile::ModelModule& module : sources.model.modules) part.modules.push_back(module.path);
  const auto edits = advice::edits_of({part}, sources);
  if (!edits) return {{"reason", edits.error().reason}};
  sources.files.front().text = *text;
  json told = json::array();
  for (const lab::SourceEdit& edit : advice::described(*edits, sources)) {
    told.push_back({{"line", edit.line},
                    {"character", edit.character},
                    {"end_line", edit.end_line},
                    {"end_character", edit.end_character},
                    {"text", edit.text}});
  }
  if (const auto written = advice::write(*edits, sources); !written) return {{"reason", written.error().message}};
  return {{"edits", std::move(told)}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(json::parse(line)).dump(-1, ' ', true, json::error_handler_t::replace) << std::endl;
  }
}
