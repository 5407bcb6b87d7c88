#include "server/session/profiling/stored_runs.h"

#include <set>
#include <utility>

#include "server/session/profiling/plan.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;

// What somebody writes by hand is to be seen when they look back at the script; it costs a look at a folder entry.
constexpr std::chrono::seconds kListEvery{2};

}  // namespace

void StoredRuns::start() {
  look();
  poll_ = loop_.after(kListEvery, [this] { start(); });
}

void StoredRuns::look() {
  if (std::exchange(looking_, true)) return;
  std::set<fs::path> folders(workspace_.folders.begin(), workspace_.folders.end());
  for (const auto& [uri, document] : workspace_.documents) folders.insert(document.path().parent_path());
  auto read = [folders = std::move(folders)] {
    Known known;
    for (const fs::path& folder : folders) {
      auto kept = runs::read_folder_runs(folder);
      if (kept && !kept->empty()) known.emplace(folder, *std::move(kept));
    }
    return known;
  };
  loop_.work(std::move(read), [this](Result<Known> known) { seen(std::move(known)); });
}

void StoredRuns::seen(Result<Known> known) {
  looking_ = false;
  if (!known || *known == known_) return;
  known_ = std::move(*known);
  changed_();
}

runs::Offers StoredRuns::of(const fs::path& script) const {
  const auto folder = known_.find(run_folder(script, workspace_.folders));
  return folder == known_.end() ? runs::Offers() : runs::offers_for(folder->second, folder->first, script, "");
}

}  // namespace hotlens::session
