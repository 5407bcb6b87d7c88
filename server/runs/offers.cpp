#include "server/runs/offers.h"

#include <algorithm>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

bool fits(const Configuration& configuration, const fs::path& script, const std::string& module) {
  if (!script.empty() && runs_script(configuration, script)) return true;
  return !module.empty() && configuration.module == module;
}

}  // namespace

Result<FolderRuns> read_folder_runs(const fs::path& folder) {
  auto written = read_configurations(folder);
  if (!written) return std::unexpected(written.error());
  return FolderRuns{.written = *std::move(written), .state = read_workspace_state(folder)};
}

Offers offers_for(const FolderRuns& runs, const fs::path& folder, const fs::path& script, const std::string& module) {
  Offers offers;
  for (const Configuration& each : runs.written) {
    const bool known = std::ranges::find(offers.all, each.label(), &Configuration::label) != offers.all.end();
    if (!known && fits(each, script, module)) offers.all.push_back(each);
  }
  if (offers.all.size() == 1) offers.chosen = 0;
  const auto remembered = runs.state.configurations.find(state_key(folder, script, script.empty() ? module : ""));
  if (remembered == runs.state.configurations.end()) return offers;
  const auto found = std::ranges::find(offers.all, remembered->second, &Configuration::label);
  if (found != offers.all.end()) offers.chosen = static_cast<std::size_t>(found - offers.all.begin());
  return offers;
}

Result<void> remember_choice(const fs::path& folder, const fs::path& script, const Configuration& chosen) {
  return change_workspace_state(folder, [&](WorkspaceState& state) {
    if (!script.empty()) state.configurations[state_key(folder, script, "")] = chosen.label();
    if (!chosen.module.empty()) state.configurations[state_key(folder, {}, chosen.module)] = chosen.label();
  });
}

}  // namespace hotlens::runs
