// `.vscode/launch.json`: how VS Code's debugger runs Python in a workspace folder, as run configurations. It is read, never written.
//
// Entries of the types "debugpy" and "python" are taken as they stand, with the variables that VS Code fills in. What cannot be run that
// way is left out, each with the reason. A file that cannot be understood offers nothing: it is another program's, and stops none of ours.
#pragma once

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "server/runs/configurations.h"

namespace hotlens::runs {

// JSON with comments and trailing commas as plain JSON, every other character at its place.
std::string without_comments(std::string_view text);

// An entry as it stands.
struct LaunchEntry {
  std::string name, json;
  friend bool operator==(const LaunchEntry&, const LaunchEntry&) = default;
};

struct LaunchFile {
  std::vector<LaunchEntry> entries;
  std::string wrong;  // why there are none: half a sentence
  friend bool operator==(const LaunchFile&, const LaunchFile&) = default;
};
LaunchFile read_launch_file(const std::filesystem::path& folder);

// What an entry runs where `file` is the script that somebody looks at (empty: none), or why it cannot be used: half a sentence.
std::expected<Configuration, std::string> launched(const LaunchEntry& entry, const std::filesystem::path& folder,
                                                   const std::filesystem::path& file);

}  // namespace hotlens::runs
