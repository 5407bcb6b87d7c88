// Entries of lists come and go, whose loop does more with each than hand on what it gives (rounds.h).
#pragma once

#include <optional>
#include <vector>

#include "annotator/lab/structure/insertion.h"

namespace hotlens::layers {

// `lists`: gaps of the lists that one loop goes through, with `rounds`. Tensors of new entries are there.
std::optional<Unclear> edit_loop(lab::Draft& draft, Insertion& insertion, const Changes& changes, const std::vector<Gap>& lists);

}  // namespace hotlens::layers
