// What a user types, as a path.
#include "annotator/profile/bundle/resolve.h"

#include <algorithm>
#include <array>
#include <fstream>
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

// Where the machine stopped while it was written, a file is empty, cut short or ends with zeros.
bool ends_as_json(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 2> end{};
  return stream.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end) && stream.read(end.data(), end.size()) &&
         (end[1] == '}' || (end[0] == '}' && end[1] == '\n'));
}

bool is_bundle(const fs::path& folder) {
  std::error_code status;
  const fs::path manifest = folder / "manifest.json";
  return folder.extension() != ".partial" && fs::is_regular_file(manifest, status) && ends_as_json(manifest);
}

// A run that somebody stopped before its map step knows no time of a layer, and a broken one nothing: neither may hide a complete one.
bool is_complete(const fs::path& bundle) {
  const Result<Manifest> manifest = read_manifest(bundle);
  if (!manifest) return manifest.error().code != ErrorCode::malformed;  // written by a newer program: that is worth saying
  return !manifest->stopped || manifest->map_trace;
}

// Names begin with the time of the run.
std::vector<fs::path> newest_first(const fs::path& store) {
  std::vector<fs::path> found;
  std::error_code status;
  for (const fs::directory_entry& entry : fs::directory_iterator(store, fs::directory_options::skip_permission_denied, status)) {
    if (is_bundle(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::ranges::greater{}, [](const fs::path& bundle) { return bundle.filename(); });
  return found;
}

}  // namespace

std::vector<fs::path> bundles(const fs::path& from) {
  const fs::path store = store_above(from);
  return store.empty() ? std::vector<fs::path>{} : newest_first(store);
}

std::vector<fs::path> bundles_in(const fs::path& folder) {
  std::error_code status;
  const fs::path store = folder / ".hotlens" / "profiles";
  if (is_bundle(folder) || !fs::is_directory(folder, status)) return {};
  return newest_first(fs::is_directory(store, status) ? store : folder);
}

Result<fs::path> resolve(std::string_view reference, const fs::path& from) {
  if (reference.empty()) return std::unexpected(Error{ErrorCode::usage, "no profile given; try `latest`", {}});
  std::error_code status;
  const fs::path store = store_above(from);
  if (reference == "latest") {
    const std::vector<fs::path> found = bundles(from);
    if (const auto complete = std::ranges::find_if(found, is_complete); complete != found.end()) return *complete;
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
