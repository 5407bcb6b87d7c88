// A script and its profile, for tests of edits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "annotator/advice/edits/edits.h"
#include "tests/unit/catch.h"

namespace hotlens::advice {

inline Sources sources(const std::string& text) {
  Sources made;
  made.files.push_back({.path = "/w/train.py", .text = text});
  made.model.files.push_back({.path = "/w/train.py", .copy = "x", .sha256 = {}, .text = {}, .workspace = true});
  return made;
}

inline profile::Site site(std::uint32_t line) {
  return {.file = profile::FileId{0}, .line = line, .end_line = line, .column = {}, .end_column = {}, .function = "<module>"};
}

// The edited text, or the reason.
inline std::string edited(const Sources& from, const std::string& kind, std::vector<std::string> modules = {}) {
  const auto edits = edits_of({{kind, std::move(modules)}}, from);
  if (!edits) return "refused: " + edits.error().reason;
  REQUIRE(edits->size() == 1);
  return replaced(from.files[edits->front().file].text, edits->front().replacements);
}

}  // namespace hotlens::advice
