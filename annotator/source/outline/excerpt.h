// Chosen statements of a text, put together to a text that parses by itself.
//
// A profile has facts about a tenth of a long file, and what a statement's expressions are does not depend on the rest. Compound statements
// come with their header alone and an empty body; a clause (`else`, `except`, …) comes behind what it needs before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/outline/outline.h"

namespace hotlens::source {

struct Excerpt {
  std::string text;
  std::vector<std::uint32_t> statements;  // as asked for
  std::vector<std::uint32_t> begins;      // where the first byte of each (Statement::begin) stands in `text`
};

Excerpt excerpt(std::string_view text, const Outline& outline, std::span<const std::uint32_t> statements);

}  // namespace hotlens::source
