// `.hotlens/state.json`: what somebody has chosen in a workspace folder (FORMAT.md). Theirs alone: git ignores it.
//
// A file that cannot be read counts as none: it holds nothing that could not be chosen again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "annotator/common/error.h"

namespace hotlens::runs {

struct WorkspaceState {
  std::map<std::string, std::string> configurations;  // script, relative to the folder, or module -> name of its configuration
  std::string baseline;                               // id of the profile that hints are compared with; empty: none
  std::string python;                                 // the interpreter, relative to the folder or absolute; empty: as it is found

  friend bool operator==(const WorkspaceState&, const WorkspaceState&) = default;
};

WorkspaceState read_workspace_state(const std::filesystem::path& folder);

// Reads, changes, writes; nothing is written where nothing changed.
Result<void> change_workspace_state(const std::filesystem::path& folder, const std::function<void(WorkspaceState&)>& change);

// The key of a script or module in `configurations`.
std::string state_key(const std::filesystem::path& folder, const std::filesystem::path& script, const std::string& module);

}  // namespace hotlens::runs
