#include "server/session/timeline/sources.h"

#include "annotator/guess/match/guess_lines.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/runs/discovery.h"
#include "server/runs/packages.h"

namespace hotlens::session {
namespace fs = std::filesystem;

bool TimelineSources::set(Known known) {
  const std::scoped_lock lock(mutex_);
  if (known == known_) return false;
  known_ = std::move(known);
  return true;
}

TimelineSources::Known TimelineSources::known() const {
  const std::scoped_lock lock(mutex_);
  return known_;
}

std::vector<fs::path> TimelineSources::list() const {
  const Known now = known();
  std::vector<fs::path> list = now.shown;
  for (const fs::path& folder : now.folders) {
    for (fs::path& bundle : profile::bundles(folder)) list.push_back(std::move(bundle));
  }
  return list;
}

std::shared_ptr<const profile::Profile> TimelineSources::with_lines(std::shared_ptr<const profile::Profile> profile) const {
  const Known now = known();
  std::vector<fs::path> roots = now.roots;
  const fs::path from = now.folders.empty() ? fs::path() : now.folders.front();
  if (const auto python = runs::find_python(now.python, from, runs::process_environment())) {
    for (fs::path& folder : runs::package_folders(python->path)) roots.push_back(std::move(folder));
  }
  return guess::guess_lines(std::move(profile), roots, {});
}

}  // namespace hotlens::session
