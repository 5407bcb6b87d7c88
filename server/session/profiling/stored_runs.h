// The run configurations of the workspace as they were seen last, for what is shown; a run reads the file itself.
//
// Looked at again and again on the pool: not every client watches files. A file that cannot be read shows nothing here; the run says why.
#pragma once

#include <filesystem>
#include <functional>
#include <map>

#include "server/runs/offers.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

class StoredRuns {
 public:
  StoredRuns(Loop& loop, const Workspace& workspace, std::function<void()> changed)
      : loop_(loop), workspace_(workspace), changed_(std::move(changed)) {}
  StoredRuns(const StoredRuns&) = delete;
  StoredRuns& operator=(const StoredRuns&) = delete;

  void start();
  void stop() { poll_ = {}; }
  void look();

  // In the innermost folder around the script.
  runs::Offers of(const std::filesystem::path& script) const;

 private:
  using Known = std::map<std::filesystem::path, runs::FolderRuns>;  // by folder
  void seen(Result<Known> known);

  Loop& loop_;
  const Workspace& workspace_;
  std::function<void()> changed_;
  Known known_;
  Loop::Timer poll_;
  bool looking_ = false;
};

}  // namespace hotlens::session
