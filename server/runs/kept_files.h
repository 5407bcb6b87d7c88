// Small files in the `.hotlens` folder of a workspace. Written whole or not at all: another editor may be reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "annotator/common/error.h"
#include "annotator/common/file.h"

namespace hotlens::runs {

// People write some of them.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

// Makes `.hotlens` of the workspace where there is none, such that git ignores all of it but the run configurations.
Result<void> make_kept_folder(const std::filesystem::path& folder);
// In a folder that is there.
Result<void> write_whole(const std::filesystem::path& path, std::string_view text);

// While it lives nobody else who asks for one changes kept files of the folder: reading, changing and writing belong together. After a
// second it goes on without: whoever holds it so long has stopped, and some file systems have no locks. Nothing where there is no
// `.hotlens` yet.
class KeptFilesLock {
 public:
  explicit KeptFilesLock(const std::filesystem::path& folder);

 private:
  Descriptor kept_;
};
// Makes that folder, too.
Result<void> write_kept_file(const std::filesystem::path& folder, std::string_view name, std::string_view text);

}  // namespace hotlens::runs
