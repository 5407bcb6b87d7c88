#include <filesystem>
#include <fstream>

#include "annotator/advice/edits/edits.h"
#include "annotator/source/notebook/notebook.h"

namespace hotlens::advice {

Result<void> write(const Edits& edits, const Sources& sources) {
  for (const FileEdit& edit : edits) {
    const std::filesystem::path& path = sources.files[edit.file].path;
    if (!source::is_notebook(path)) continue;
    const std::string sentence = path.filename().string() + " is a notebook: open it in an editor and apply the change there.";
    return std::unexpected(Error{ErrorCode::unsupported, sentence, path.string()});
  }
  for (const FileEdit& edit : edits) {
    const SourceText& file = sources.files[edit.file];
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(file.path, error);
    const std::filesystem::path draft = real.string() + ".hotlens-draft";
    {
      std::ofstream out(draft, std::ios::binary | std::ios::trunc);
      out << replaced(file.text, edit.replacements);
      out.flush();
      if (!out) error = std::make_error_code(std::errc::io_error);
    }
    if (!error) std::filesystem::permissions(draft, std::filesystem::status(real, error).permissions(), error);
    if (!error) std::filesystem::rename(draft, real, error);
    if (!error) continue;
    std::error_code gone;
    std::filesystem::remove(draft, gone);
    return std::unexpected(Error{ErrorCode::unreadable, "the edit could not be written: " + error.message(), file.path.string()});
  }
  return {};
}

}  // namespace hotlens::advice
