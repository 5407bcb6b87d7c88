// What somebody does not want to be told at a place: a kind of change at a line, kept in the workspace beside the ledger (FORMAT.md).
//
// Lines are added at the end; the last one of a kind and place counts. What is no such line silences nothing, and stays.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"

namespace hotlens::advice {

struct Silenced {
  std::string kind;
  std::filesystem::path file;  // absolute
  std::string text;            // of the line, without blanks at both ends
  std::size_t nth = 0;         // of the lines that read the same

  friend bool operator==(const Silenced&, const Silenced&) = default;
};

// `.hotlens/silenced.jsonl` of the workspace that a bundle is in, and of a workspace folder.
std::filesystem::path silenced_of(const std::filesystem::path& bundle);
std::filesystem::path silenced_in(const std::filesystem::path& folder);

// What counts now, in the order in which it was silenced. A file that cannot be read silences nothing.
std::vector<Silenced> read_silenced(const std::filesystem::path& list);

Silenced place_to_silence(const Suggestion& suggestion);
bool silences(const std::vector<Silenced>& all, const Silenced& place);

Result<void> silence(const std::filesystem::path& list, const Silenced& place);
// Tells it again.
Result<void> tell_again(const std::filesystem::path& list, const Silenced& place);

}  // namespace hotlens::advice
