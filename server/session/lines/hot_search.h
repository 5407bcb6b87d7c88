// The costliest lines over all files of a profile, with the numbers of their hints.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "server/features/hints/hot_lines.h"
#include "server/session/profiles/store.h"

namespace hotlens::session {

struct HotPlace {
  std::filesystem::path file;
  features::HotLine line;
};

struct HotSearch {
  ProfileStore::Shared profile;                              // not null
  std::map<std::filesystem::path, features::FileView> open;  // as they are shown; other files are as they are on the disk
  features::Folders readable;
  features::Options options;

  // The costliest first; lines that sum up others are left out while there is any other. Reads files: call it on the pool.
  std::vector<HotPlace> lines() const;

 private:
  std::optional<features::FileView> view_of(const std::filesystem::path& file) const;
};

// A file of the profile as it is on the disk. Reads it.
std::optional<features::FileView> view_on_disk(const ProfileStore::Shared& profile, const std::filesystem::path& file,
                                               const features::Folders& readable);

}  // namespace hotlens::session
