// The outline of a file with its times: every line with a hint, inside the functions and classes around it.
//
// Nothing else is listed, so that a file without facts has no outline of ours beside that of a Python server. The words of a symbol's
// detail are those of the line's hint; a class or function without a hint of its own has none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

struct Symbol {
  enum class Kind : std::uint8_t { type, method, function, layer, stage, line };
  std::string name;    // never empty
  std::string detail;  // of the hint
  Kind kind = Kind::line;
  source::Range range, selection;  // the second inside the first
  std::vector<Symbol> children = {};
};

// `hints`: all of the view, sorted by line.
std::vector<Symbol> symbols(const FileView& view, std::span<const Hint> hints);

}  // namespace hotlens::features
