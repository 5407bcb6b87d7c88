// What a user types, as a path.
#include "annotator/profile/bundle/resolve.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {
namespace {

namespace fs = std::filesystem;

// `.hotlens/profiles` of the folder or the nearest one above it; empty where there is none.
fs::path store_above(const fs::path& from) {
  std::error_code status;
  fs::path folder = fs::absolute(from, status).lexically_normal();
  for (;;) {
    fs::path store = folder / ".hotlens" / "profiles";
    if (fs::is_directory(store, status)) return store;
    if (!folder.has_relative_path()) return {};
    folder = folder.parent_path();
  }
}

bool is_bundle(const fs::path& folder) {
  std::error_code status;
  return folder.extension() != ".partial" && fs::is_regular_file(folder / "manifest.json", status);
}

// A run that somebody stopped before its map step knows no time of a layer: it must not hide a complete one.
bool is_cut_short(const fs::path& bundle) {
  const Result<Manifest> manifest = read_manifest(bundle);
  return manifest && manifest->stopped && !manifest->map_trace;
}

}  // namespace

// Names begin with the time of the run.
std::vector<fs::path> bundles(const fs::path& from) {
  std::vector<fs::path> found;
  const fs::path store = store_above(from);
  if (store.empty()) return found;
  std::error_code status;
  for (const fs::directory_entry& entry : fs::directory_iterator(store, fs::directory_options::skip_permission_denied, status)) {
    if (is_bundle(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::ranges::greater{}, [](const fs::path& bundle) { return bundle.filename(); });
  return found;
}

Result<fs::path> resolve(std::string_view reference, const fs::path& from) {
  if (reference.empty()) return std::unexpected(Error{ErrorCode::usage, "no profile given; try `latest`", {}});
  std::error_code status;
  const fs::path store = store_above(from);
  if (reference == "latest") {
    const std::vector<fs::path> found = bundles(from);
    if (const auto complete = std::ranges::find_if_not(found, is_cut_short); complete != found.end()) return *complete;
    if (!found.empty()) return found.front();
    return std::unexpected(Error{ErrorCode::not_found, "there is no profile here yet; record one with `hotlens run train.py`",
                                 fs::absolute(from, status).string()});
  }
  const fs::path given(reference);
  fs::path path = given.is_absolute() ? given : from / given;
  if (fs::is_directory(path, status) || fs::exists(path, status)) return path;
  const bool plain_name = !given.has_parent_path();
  if (plain_name && !store.empty() && fs::is_directory(store / given, status)) return store / given;
  return std::unexpected(Error{ErrorCode::not_found, "no such profile: neither a bundle id, a bundle folder nor a trace file; try `latest`",
                               std::string(reference)});
}

}  // namespace hotlens::profile
