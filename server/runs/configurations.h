// `.hotlens/runs.json`: how each script of a workspace folder is run (FORMAT.md). People write it, commit it, and share it.
//
// A file that cannot be understood is an error that names the place in it; nothing of it is used then, and it is never written over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::runs {

struct Configuration {
  std::filesystem::path file;                                    // that it stands in
  std::string name;                                              // empty: the only one of its script
  std::filesystem::path script;                                  // absolute; empty for a module
  std::string module;                                            // as after "-m"
  std::string arguments;                                         // a line for split_words()
  std::string launcher;                                          // a line for launcher_command(); empty: none
  std::filesystem::path directory;                               // absolute: where it runs
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string python;                                            // an interpreter: a name on PATH or a path; empty: found as usual
  bool of_vscode = false;                                        // from launch.json (launch_file.h): read, never written

  // For people, and to tell those of one script apart.
  std::string label() const { return !name.empty() ? name : module.empty() ? script.filename().string() : "-m " + module; }

  // The command in short: `torchrun --nproc_per_node 2 train.py --lr 1`.
  std::string summary() const;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

std::filesystem::path configurations_file(const std::filesystem::path& folder);

// Those of a workspace folder; none where it has no such file.
Result<std::vector<Configuration>> read_configurations(const std::filesystem::path& folder);

// Whether it runs this file, as a script or as the module that the file is.
bool runs_script(const Configuration& configuration, const std::filesystem::path& script);

// Which entry: that of a script, or of a module, with this name.
struct Stored {
  std::filesystem::path script;
  std::string module;
  std::string name;
};

// Keeps the line for an entry, or for a new one; the rest of the file stays.
Result<void> store_arguments(const std::filesystem::path& folder, const Stored& of, const std::string& line);
Result<void> store_python(const std::filesystem::path& folder, const Stored& of, const std::string& python);

}  // namespace hotlens::runs
