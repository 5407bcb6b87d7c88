#include "server/session/profiles/homes.h"

#include <algorithm>

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;

// Empty where none is around it.
fs::path innermost(const std::vector<fs::path>& folders, const fs::path& file) {
  fs::path found;
  const auto depth = [](const fs::path& folder) { return std::ranges::distance(folder); };
  for (const fs::path& folder : folders) {
    const bool around = std::ranges::mismatch(folder, file).in1 == folder.end();
    if (around && depth(folder) > depth(found)) found = folder;
  }
  return found;
}

}  // namespace

fs::path home_of(const std::vector<fs::path>& folders, const fs::path& file) {
  fs::path found = innermost(folders, file);
  return found.empty() && !folders.empty() ? folders.front() : found;
}

fs::path home_of(const std::vector<fs::path>& folders, const fs::path& file, const fs::path& bundle) {
  fs::path found = innermost(folders, bundle);
  return found.empty() ? home_of(folders, file) : found;
}

}  // namespace hotlens::session
