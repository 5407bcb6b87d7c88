// Folders of traces for tests: real ones (HOTLENS_TRACES), and those that the tests record themselves (HOTLENS_OWN_TRACES, see
// tests/traces).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/catch.h"

namespace hotlens::tests {

inline constexpr const char* kReal = "HOTLENS_TRACES";
inline constexpr const char* kOwn = "HOTLENS_OWN_TRACES";

// The traces of a folder by name. Without one, what is left out is said, counted by tests/run.sh, and a failure where CI is set.
inline std::vector<std::filesystem::path> traces(const char* variable, const std::string& use) {
  const char* folder = std::getenv(variable);
  std::vector<std::filesystem::path> found;
  if (folder && std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().find(".json") != std::string::npos) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }
  const std::string sentence = std::string(variable) + " names no folder: " + use;
  if (const char* counted = std::getenv("HOTLENS_LEFT_OUT")) std::ofstream(counted, std::ios::app) << sentence << '\n';
  if (std::getenv("CI")) FAIL(sentence);
  WARN(sentence);
  return found;
}

}  // namespace hotlens::tests
