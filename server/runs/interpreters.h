// The Python interpreters that a person can choose from: environments in the workspace, the active one, what the editor knows, PATH.
//
// Nothing is run to find them. Whether PyTorch is there is read from the names of folders; where that shows nothing, nothing is claimed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/runs/discovery.h"

namespace hotlens::runs {

struct Interpreter {
  std::filesystem::path path;
  std::string torch;  // its version, as its folder is named; empty: none was seen

  friend bool operator==(const Interpreter&, const Interpreter&) = default;
};

// Each once; those with PyTorch first. `known` are paths that the editor told of.
std::vector<Interpreter> find_interpreters(const std::vector<std::filesystem::path>& folders, const std::vector<std::string>& known,
                                           const Environment& environment);

}  // namespace hotlens::runs
