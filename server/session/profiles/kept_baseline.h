// The baseline from one session to the next: an id in `.hotlens/state.json` of the folder that its bundle is in. On the pool: files are
// read.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "annotator/common/error.h"
#include "server/session/profiles/store.h"

namespace hotlens::session {

// Keeps it with its bundle (empty: nowhere), and in none of the other folders.
Result<void> keep_baseline(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& bundle);

struct KeptBaselines {
  std::vector<std::pair<std::filesystem::path, ProfileStore::Shared>>
      baselines;                  // in the order of the folders; none where it cannot be read
  std::vector<std::string> gone;  // ids; they are kept no longer
};
KeptBaselines kept_baselines(const std::vector<std::filesystem::path>& folders);

}  // namespace hotlens::session
