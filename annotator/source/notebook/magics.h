// What only IPython understands in a cell, left out so that every other character keeps its line and its column.
//
// The same rules as the recorder's (annotator/recorder/hotlens/source/magics.py; FORMAT.md, "A notebook"), so that an open cell reads as it
// ran. tests/notebook_cells.json holds both to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotlens::source {

struct CellScript {
  std::string text;                  // lines as they run; the last one has an end
  std::string written;               // the same lines as they are in the cell
  std::vector<std::string> futures;  // imported from __future__: the script's first line imports them
};

CellScript without_magics(std::string_view cell);

}  // namespace hotlens::source
