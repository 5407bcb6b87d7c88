// Classes that left one file for another.
//
// A class has moved where the executed text had it at its top level, the file it was executed from has none of that name any more, and the
// text that is looked at has one whose statements are for the most part the same. A class that is in both files was copied: what ran is
// still the first one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/source/anchors.h"

namespace hotlens::source {

struct LineSpan {
  std::uint32_t first = 0, last = 0;  // both inclusive
};

// The lines in `executed`, decorators and bodies included, of the classes that stand in `now`. `left`: the executed file as it is today;
// null where it is gone.
std::vector<LineSpan> moved_classes(const Tree& executed, const Tree* left, const Tree& now);

// The names of the classes at the top level, in the order of the text.
std::vector<std::string> class_names(const Tree& tree);

}  // namespace hotlens::source
