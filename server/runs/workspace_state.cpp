#include "server/runs/workspace_state.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "annotator/common/file.h"
#include "server/runs/kept_files.h"

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kName = "state.json", kStateSchema = "hotlens.state/1";

std::map<std::string, std::string> texts(const Json& state, const char* key) {
  std::map<std::string, std::string> read;
  const auto found = state.find(key);
  if (found == state.end() || !found->is_object()) return read;
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) read[name] = value.get<std::string>();
  }
  return read;
}

}  // namespace

WorkspaceState read_workspace_state(const fs::path& folder) {
  const auto text = read_file(folder / ".hotlens" / kName, kMostKeptBytes);
  const Json state = text ? Json::parse(*text, nullptr, false) : Json();
  if (!state.is_object() || state.value("schema", Json()) != kStateSchema) return {};
  const auto text_of = [&](const char* key) {
    const Json value = state.value(key, Json());
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  return {.configurations = texts(state, "configurations"), .baseline = text_of("baseline"), .python = text_of("python")};
}

Result<void> change_workspace_state(const fs::path& folder, const std::function<void(WorkspaceState&)>& change) {
  const KeptFilesLock lock(folder);
  const WorkspaceState before = read_workspace_state(folder);
  WorkspaceState state = before;
  change(state);
  if (state == before) return {};
  Json json{{"schema", kStateSchema}, {"configurations", state.configurations}};
  if (!state.baseline.empty()) json["baseline"] = state.baseline;
  if (!state.python.empty()) json["python"] = state.python;
  return write_kept_file(folder, kName, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string state_key(const fs::path& folder, const fs::path& script, const std::string& module) {
  return module.empty() ? script.lexically_proximate(folder).string() : "-m " + module;
}

}  // namespace hotlens::runs
