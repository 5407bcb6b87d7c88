// Small questions about one text that features ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/source/anchors.h"

namespace hotlens::source {

// The statement that covers a line (of a compound one its header), without decorators; of several, the first. Empty for blanks and
// comments.
std::optional<Range> statement_at(const Tree& tree, std::uint32_t line);

// A function or class.
struct Scope {
  std::string name;
  bool is_class = false;
  Range range;       // with its body, without decorators
  Range name_range;  // inside `range`
};
// Those around a place, the outermost first; of a header itself, too.
std::vector<Scope> scopes_at(const Tree& tree, Position at);

// Whether running this text probably trains something: it calls `….backward(`, `….step(` inside a loop, `….fit(` or `…trainer….train(`; or
// it imports torch and has a main guard. Only code counts, not strings or comments. A guess for offering a command, not for anything
// measured.
bool looks_like_training_script(const Tree& tree);

// The line of such a text where the training happens, 0-based: the innermost loop around the first `….backward(`, or around what calls the
// function that it stands in; else around a `….step(`; else the line that calls `….fit(`, a trainer's `….train(` or `….backward(`; else
// its main guard. Edits elsewhere do not change which it is.
std::optional<std::uint32_t> training_line(const Tree& tree);

}  // namespace hotlens::source
