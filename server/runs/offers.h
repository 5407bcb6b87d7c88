// The ways to run a script that a person has written down, and which of them was chosen.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "server/runs/configurations.h"
#include "server/runs/launch_file.h"
#include "server/runs/workspace_state.h"

namespace hotlens::runs {

struct Offers {
  std::vector<Configuration> all;     // that fit the script, each with a label of its own; those of runs.json first
  std::size_t written = 0;            // how many stand in runs.json
  std::optional<std::size_t> chosen;  // by somebody; or the only one of runs.json
  std::vector<std::string> left_out;  // of launch.json, what cannot be used: "Attach: its request is `attach`"

  const Configuration* used() const { return chosen ? &all[*chosen] : nullptr; }
  // One of VS Code is used where somebody chose it, so nobody is asked because of it.
  bool undecided() const { return written > 1 && !chosen; }
  friend bool operator==(const Offers&, const Offers&) = default;
};

// All that is kept of runs in a workspace folder.
struct FolderRuns {
  std::vector<Configuration> written;  // in runs.json
  LaunchFile launch;
  WorkspaceState state;

  bool empty() const { return written.empty() && launch.entries.empty(); }
  friend bool operator==(const FolderRuns&, const FolderRuns&) = default;
};

// The error is that of a runs.json that cannot be understood.
Result<FolderRuns> read_folder_runs(const std::filesystem::path& folder);

// For a script, or for a module that no file is known of. Of two with one label the first is offered.
Offers offers_for(const FolderRuns& runs, const std::filesystem::path& folder, const std::filesystem::path& script,
                  const std::string& module);

// Whether an entry names this very file, not just whichever is looked at.
bool names_script(const FolderRuns& runs, const std::filesystem::path& folder, const std::filesystem::path& script);

// Remembers the choice for the next time, for the script (where one is known) and for the module that the configuration runs.
Result<void> remember_choice(const std::filesystem::path& folder, const std::filesystem::path& script, const Configuration& chosen);
Result<void> forget_choice(const std::filesystem::path& folder, const std::filesystem::path& script, const std::string& module);

}  // namespace hotlens::runs
