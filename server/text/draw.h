// Levels as lines of cells, one below the other: a title, an axis, a line per track with blocks as stretches of cells. An edge marks where
// a block begins, so that text without colours can be read too. Idle device time is dotted, waiting is hatched.
//
// Every name comes out of a trace and may hold anything; what is drawn has no control characters and one cell per column.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/text/levels.h"

namespace hotlens::text {

constexpr std::size_t kLeastColumns = 40, kMostColumns = 500;
constexpr std::size_t kNameColumns = 18;  // of a track

// A stretch of a line, in bytes: `what` is a stage's name as the colour of blocks, or idle, waiting, selected, title, dim.
struct Mark {
  std::size_t line = 0, from = 0, to = 0;
  std::string_view what;
};

struct Picture {
  std::vector<std::string> lines;
  std::vector<Mark> marks;  // by line, not overlapping
  struct Place {
    std::size_t line = 0, byte = 0;
  };
  std::optional<Place> chosen;  // where the chosen block begins
};

struct Chosen {
  std::size_t track = 0, index = 0;  // of the block
};

// The cells that a level's tracks have in so many columns.
std::size_t width_of(std::size_t columns);

void draw(Picture& picture, const ShownLevel& level, const std::optional<Chosen>& chosen);
// Made harmless.
void add_text(Picture& picture, std::string_view line, std::string_view what);

}  // namespace hotlens::text
