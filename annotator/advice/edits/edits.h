// What-ifs as edits of the script's text: exactly the expressions that a change names, or why they cannot be edited safely.
//
// A file that is no longer the executed one is not edited, nor one that does not parse; nor is anything where two places set the same
// thing, since nobody knows then which one counts. What an edit leaves parses, and every other byte is as it was.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/advice/edits/sources.h"
#include "annotator/advice/edits/syntax.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::advice {

struct FileEdit {
  std::size_t file = 0;                   // of Sources::files
  std::vector<Replacement> replacements;  // an import that they need last
  std::vector<std::string> needs = {};    // what they name and the file may not import: "torch"
};
using Edits = std::vector<FileEdit>;

// Why there is no edit; what to do by hand where that is known.
struct NoEdit {
  std::string reason, by_hand;
};
std::string sentence(const NoEdit& why);

// Of a what-if that the profile's program has; of several kinds all at once.
std::expected<Edits, NoEdit> edits_of(const std::vector<lab::Part>& parts, const Sources& sources);

// The what-if that a rule advises under a name of its own: "autocast_bf16" of "lower_precision". Every other name is itself.
std::string_view what_if_of(std::string_view kind);

// Variables of the environment, by name, that a change sets where it edits no text. Empty of every other.
using Environment = std::vector<std::pair<std::string, std::string>>;
Environment environment_of(const std::vector<lab::Part>& parts);

// For people and scripts.
std::vector<lab::SourceEdit> described(const Edits& edits, const Sources& sources);

// Where they change what stands there, so that a hint goes with it; of edits that only add, where the first of them begins.
std::optional<lab::SourceLine> place_of(const Edits& edits, const Sources& sources);

// Writes the files, each whole or not at all. An error names what could not be written; what was written before stays.
Result<void> write(const Edits& edits, const Sources& sources);

}  // namespace hotlens::advice
