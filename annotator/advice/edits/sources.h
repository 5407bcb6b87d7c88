// The files of a profile that an edit may change, and what the profile knows of places in them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/profile/bundle/bundle.h"

namespace hotlens::advice {

// A file of the workspace that ran.
struct SourceText {
  std::filesystem::path path;
  std::string text;           // as it is now
  bool as_executed = true;    // false: it was changed since, or is gone
  bool can_be_edited = true;  // false: it is read-only
};

struct Sources {
  profile::Model model;
  std::string device = "cpu";                // where the step ran: "cpu", "cuda"
  std::vector<std::string> optimizers = {};  // classes of those of torch's that stepped; empty where that is not known
  int loader_workers = 1;                    // processes that may load batches here: a processor is left for the loop
  std::vector<SourceText> files;
  std::size_t file_of(const profile::Site& site) const;  // files.size(): it is none of them
};

// Reads files; those that ran as they are now.
Result<Sources> read_sources(const std::filesystem::path& bundle);
// The same from the bundle alone: their texts are those that ran.
Result<Sources> read_executed(const std::filesystem::path& bundle);
// What an editor holds of a file counts as its text.
void open_in_editor(Sources& sources, const std::filesystem::path& path, std::string text);

}  // namespace hotlens::advice
