// The files of settings that a script reads, as far as its command line and its text name them: a batch size often stands there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::timeline_requests {

// JSON, YAML or TOML, by its name.
bool is_settings_file(const std::filesystem::path& file);

// The names of such files in a Python text: string literals, and what Hydra is told (`config_path=…, config_name=…`).
std::vector<std::string> named_settings(std::string_view text);

struct SettingsFile {
  std::filesystem::path path;  // absolute
  std::string text;            // as it is now: bundles keep no copy
};
// Those named by the command line or by a file of the workspace that lie in the bundle's workspace; at most 20.
std::vector<SettingsFile> settings_files(const profile::Profile& profile);

}  // namespace hotlens::timeline_requests
