// Which profiles an agent may name, and what lies where in its folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "annotator/profile/profile.h"

namespace hotlens::mcp {

using Shared = std::shared_ptr<const profile::Profile>;

// The folder that the server was started for. Agents read nothing outside of it, but profiles that belong to a folder around it.
struct Folder {
  std::filesystem::path root;  // absolute

  // A bundle id, `latest`, `previous` (the one before it), or a path in the folder.
  Result<std::filesystem::path> find_profile(std::string_view reference) const;
  Result<Shared> load(std::string_view reference) const;
  // A file that has to lie in the folder.
  Result<std::filesystem::path> find_file(const std::string& name) const;
  // As an agent would write it: relative where the file lies in the folder.
  std::string spelled(const std::filesystem::path& file) const;
};

}  // namespace hotlens::mcp
