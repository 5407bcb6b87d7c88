// The files of settings that a script reads, as far as its command line and its text name them: a batch size often stands there.
#pragma once

#include <filesystem>
#include <set>
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

// Files of settings of a profile, as they are named.
class SettingsFiles {
 public:
  // Those that its command line names.
  explicit SettingsFiles(const profile::Profile& profile);
  // Those that the text of a source names.
  void add(const std::filesystem::path& source, std::string_view text);
  // Those that lie in the bundle's workspace; at most 20.
  const std::vector<SettingsFile>& found() const { return found_; }

 private:
  void add(const std::string& name, const std::filesystem::path& folder);

  std::filesystem::path root_, ran_in_;
  std::vector<SettingsFile> found_;
  std::set<std::filesystem::path> looked_;
};

}  // namespace hotlens::timeline_requests
