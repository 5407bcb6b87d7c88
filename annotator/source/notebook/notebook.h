// A notebook as the script that its code cells make, from the top to the bottom: what the recorder runs, and what a profile's lines count
// in.
//
// The script's first line is ours (an encoding, or the notebook's `from __future__` imports); then come the code cells, each from a line of
// its own. Only code cells count, from 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/source/notebook/magics.h"

namespace hotlens::source {

struct Script {
  std::string text;
  std::string written;                // the same lines as the cells have them
  std::vector<std::uint32_t> starts;  // the line, from 0, at which each code cell begins
};

bool is_notebook(const std::filesystem::path& file);

Script script_of(std::span<const CellScript> cells);

// The text of an .ipynb file, version 3 or 4. `name` is for the sentence of an error: no JSON, no cells, another language than Python.
Result<Script> script_of_notebook(std::string_view json, const std::string& name);

// Larger ones hold pictures that nobody has cleared.
inline constexpr std::size_t kMostNotebook = std::size_t{256} << 20;

// A Python file as it is, a notebook as its script. `most` bytes of a file; of a notebook, of its script.
Result<Script> read_source(const std::filesystem::path& file, std::size_t most);

}  // namespace hotlens::source
