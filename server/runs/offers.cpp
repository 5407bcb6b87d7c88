#include "server/runs/offers.h"

#include <algorithm>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

bool fits(const Configuration& configuration, const fs::path& script, const std::string& module) {
  if (!script.empty() && runs_script(configuration, script)) return true;
  return !module.empty() && configuration.module == module;
}

void add(Offers& offers, Configuration each) {
  const bool known = std::ranges::find(offers.all, each.label(), &Configuration::label) != offers.all.end();
  if (!known) offers.all.push_back(std::move(each));
}

}  // namespace

Result<FolderRuns> read_folder_runs(const fs::path& folder) {
  auto written = read_configurations(folder);
  if (!written) return std::unexpected(written.error());
  return FolderRuns{.written = *std::move(written), .launch = read_launch_file(folder), .state = read_workspace_state(folder)};
}

Offers offers_for(const FolderRuns& runs, const fs::path& folder, const fs::path& script, const std::string& module) {
  Offers offers;
  for (const Configuration& each : runs.written) {
    if (fits(each, script, module)) add(offers, each);
  }
  offers.written = offers.all.size();
  if (offers.written == 1) offers.chosen = 0;
  if (!runs.launch.wrong.empty()) offers.left_out.push_back("everything: " + runs.launch.wrong);
  for (const LaunchEntry& entry : runs.launch.entries) {
    auto each = launched(entry, folder, script);
    if (!each) offers.left_out.push_back(entry.name + ": " + each.error());
    if (each && fits(*each, script, module)) add(offers, *std::move(each));
  }
  const auto remembered = runs.state.configurations.find(state_key(folder, script, script.empty() ? module : ""));
  if (remembered == runs.state.configurations.end()) return offers;
  const auto found = std::ranges::find(offers.all, remembered->second, &Configuration::label);
  if (found != offers.all.end()) offers.chosen = static_cast<std::size_t>(found - offers.all.begin());
  return offers;
}

bool names_script(const FolderRuns& runs, const fs::path& folder, const fs::path& script) {
  if (std::ranges::any_of(runs.written, [&](const Configuration& each) { return runs_script(each, script); })) return true;
  return std::ranges::any_of(runs.launch.entries, [&](const LaunchEntry& entry) {
    const auto each = launched(entry, folder, {});
    return each && runs_script(*each, script);
  });
}

Result<void> forget_choice(const fs::path& folder, const fs::path& script, const std::string& module) {
  return change_workspace_state(
      folder, [&](WorkspaceState& state) { state.configurations.erase(state_key(folder, script, script.empty() ? module : "")); });
}

Result<void> remember_choice(const fs::path& folder, const fs::path& script, const Configuration& chosen) {
  return change_workspace_state(folder, [&](WorkspaceState& state) {
    if (!script.empty()) state.configurations[state_key(folder, script, "")] = chosen.label();
    if (!chosen.module.empty()) state.configurations[state_key(folder, {}, chosen.module)] = chosen.label();
  });
}

}  // namespace hotlens::runs
