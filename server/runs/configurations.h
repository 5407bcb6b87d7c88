// `.hotlens/runs.json`: how each script of a workspace folder is run (FORMAT.md). People write it, commit it, and share it.
//
// A file that cannot be understood is an error that names the place in it; nothing of it is used then, and it is never written over.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::runs {

struct Configuration {
  std::filesystem::path script;                                  // absolute; empty for a module
  std::string module;                                            // as after "-m"
  std::string arguments;                                         // a line for split_words()
  std::filesystem::path directory;                               // absolute: where it runs
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string python;                                            // an interpreter: a name on PATH or a path; empty: found as usual

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

std::filesystem::path configurations_file(const std::filesystem::path& folder);

// Those of a workspace folder; none where it has no such file.
Result<std::vector<Configuration>> read_configurations(const std::filesystem::path& folder);

// The one that runs this file, as a script or as the module that it is; null where none does.
const Configuration* configuration_of(const std::vector<Configuration>& all, const std::filesystem::path& script);

// Keeps the line for a script, or a module, of the folder; the rest of the file stays. Makes `.hotlens` such that git ignores all of it but
// this file.
Result<void> store_arguments(const std::filesystem::path& folder, const std::filesystem::path& script, std::string_view module,
                             const std::string& line);

}  // namespace hotlens::runs
