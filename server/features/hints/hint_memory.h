// What a line's hint says, kept from one text to the next: an edit elsewhere in the file changes no word of it.
//
// The words of a line are a function of the facts that stand on it, their states, the profile and the options; where they stand is not part
// of them. Lines whose words name another line, or whose statement was edited, are asked again each time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// A piece of a label that stands for one call of the line.
struct PieceWords {
  std::string text, tooltip;
  std::vector<profile::ModuleId> modules;  // called there; empty for the rest of the line
};

struct LineWords {
  std::string label, tooltip;  // no label: the line has no hint
  std::vector<PieceWords> pieces;
  double share = 0;  // as in Hint
};

class HintMemory {
 public:
  // Forgets everything that was of another profile, another binding or other options.
  void use_for(const std::shared_ptr<const FileFacts>& facts, const Options& options);

  // The words of a line with exactly these facts in these states (moved is as fresh); null where they are not known. Good until the next
  // call of keep().
  const LineWords* find(const FileView& view, const std::vector<std::uint32_t>& facts) const;
  const LineWords& keep(const FileView& view, const std::vector<std::uint32_t>& facts, LineWords words);

 private:
  struct Entry {
    std::vector<std::uint32_t> facts;
    std::vector<source::State> states;  // by fact
    LineWords words;
  };
  std::shared_ptr<const FileFacts> facts_;
  std::optional<Options> options_;
  std::unordered_map<std::uint32_t, Entry> lines_;  // by the line's first fact
};

}  // namespace hotlens::features
