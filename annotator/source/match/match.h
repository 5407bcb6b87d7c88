// Which statement of one text is which statement of another.
//
// Whole subtrees that are equal are matched at once; between them, statements that are unique among their siblings on both sides (patience
// diff), functions and classes by name wherever they went, then by what is in them. What is left is looked for elsewhere in the same
// function, then in the file; and what still has no twin is compared with what stands in its place.
//
// A match is *certain* only where no other statement of the same text could be meant. Repeated statements are certain while their function
// has as many of them as before and their neighbours tell them apart. Everything else is a match, too, but not one to be sure about.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {

struct Match {
  std::uint32_t to = kNoStatement;
  bool same = false;     // the same normal form
  bool certain = false;  // no other statement could be meant
};

// One match per statement of `old`. Cost: linear where the texts are equal, n log n in a changed block.
std::vector<Match> match(const Tree::Data& old, const Tree::Data& now);

}  // namespace hotlens::source
