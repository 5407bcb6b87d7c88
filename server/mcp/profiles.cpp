#include "server/mcp/profiles.h"

#include <algorithm>

#include "annotator/common/file.h"
#include "annotator/guess/match/guess_lines.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/runs/discovery.h"
#include "server/runs/packages.h"

namespace hotlens::mcp {
namespace {

namespace fs = std::filesystem;

Error outside(std::string_view name, const fs::path& root) {
  return {ErrorCode::usage,
          std::string(name) + " is not in " + root.string() + ". Name a file in that folder, or start the server with another --folder.",
          std::string(name)};
}

}  // namespace

Result<fs::path> Folder::find_profile(std::string_view reference) const {
  if (reference == "previous") {
    const std::vector<fs::path> known = profile::bundles(root);
    const auto latest = profile::resolve("latest", root);
    const auto at = latest ? std::ranges::find(known, *latest) : known.end();
    if (at == known.end() || at + 1 == known.end()) {
      return std::unexpected(Error{ErrorCode::not_found, "There is no earlier profile to compare with. Profile the script again.", {}});
    }
    return *(at + 1);
  }
  auto path = profile::resolve(reference.empty() ? "latest" : reference, root);
  if (!path) return path;
  const fs::path store = fs::path(".hotlens") / "profiles", around = path->parent_path();
  const bool stored = !fs::path(reference).has_parent_path() && around.filename() == store.filename() &&
                      around.parent_path().filename() == store.parent_path();
  if (!stored && !is_inside(*path, root)) return std::unexpected(outside(reference, root));
  return path;
}

Result<Shared> Folder::load(std::string_view reference) const {
  const auto path = find_profile(reference);
  if (!path) return std::unexpected(path.error());
  auto loaded = profile::load(*path);
  if (!loaded || !(*loaded)->files.empty()) return loaded;
  std::vector<fs::path> roots{root};
  if (const auto python = runs::find_python("", root, runs::process_environment())) {
    const auto packages = runs::package_folders(python->path);
    roots.insert(roots.end(), packages.begin(), packages.end());
  }
  return guess::guess_lines(*loaded, roots, {});
}

Result<fs::path> Folder::find_file(const std::string& name) const {
  std::error_code ignored;
  const fs::path file = (root / name).lexically_normal();
  if (!fs::is_regular_file(file, ignored)) {
    return std::unexpected(Error{ErrorCode::not_found, name + " is not a file in " + root.string() + ".", name});
  }
  if (!is_inside(file, root)) return std::unexpected(outside(name, root));
  return file;
}

std::string Folder::spelled(const fs::path& file) const {
  const auto [rest, end] = std::ranges::mismatch(file, root);
  if (end != root.end()) return file.string();
  fs::path relative;
  for (auto part = rest; part != file.end(); ++part) relative /= *part;
  return relative.string();
}

}  // namespace hotlens::mcp
