#include "server/session/profiles/kept_baseline.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/runs/workspace_state.h"

namespace hotlens::session {

namespace fs = std::filesystem;

Result<void> keep_baseline(const std::vector<fs::path>& folders, const fs::path& bundle) {
  const auto real = [](const fs::path& folder) {
    std::error_code error;
    const fs::path found = fs::weakly_canonical(folder, error);
    return error ? folder : found;
  };
  const fs::path root = bundle.empty() ? fs::path() : real(bundle.parent_path().parent_path().parent_path());
  std::set<fs::path> all;
  for (const fs::path& folder : folders) all.insert(real(folder));
  if (!root.empty()) all.insert(root);
  for (const fs::path& folder : all) {
    const std::string id = folder == root ? bundle.filename().string() : "";
    const auto kept = runs::change_workspace_state(folder, [&](runs::WorkspaceState& state) { state.baseline = id; });
    if (!kept && folder == root) return kept;
  }
  return {};
}

KeptBaselines kept_baselines(const std::vector<fs::path>& folders) {
  KeptBaselines kept;
  for (const fs::path& folder : folders) {
    const std::string id = runs::read_workspace_state(folder).baseline;
    if (id.empty()) continue;
    const std::vector<fs::path> bundles = profile::bundles(folder);
    const auto at = std::ranges::find(bundles, fs::path(id), [](const fs::path& bundle) { return bundle.filename(); });
    const auto loaded = at != bundles.end() ? profile::load(*at) : std::unexpected(Error{ErrorCode::not_found, "", {}});
    if (loaded) {
      kept.baselines.emplace_back(folder, *loaded);
    } else {
      kept.gone.push_back(id);
      std::ignore = runs::change_workspace_state(folder, [](runs::WorkspaceState& state) { state.baseline.clear(); });
    }
  }
  return kept;
}

}  // namespace hotlens::session
