#include "annotator/profile/source_text.h"

#include "annotator/common/file.h"

namespace hotlens::profile {

std::optional<std::string> executed_text(const Profile& profile, FileId file) {
  const SourceFile& source = profile.files.at(file.index);
  if (source.text) return *source.text;
  if (source.copy.empty()) return std::nullopt;
  const std::filesystem::path& bundle = profile.folder.empty() ? source.copy.parent_path() : profile.folder;
  Result<std::string> text = read_file_inside(bundle, source.copy, kMostSource);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace hotlens::profile
