// What a module calls otherwise: in its `forward`, and in the methods that this calls.
#pragma once

#include <expected>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/match/methods.h"

namespace hotlens::layers {

struct EditedCalls {
  std::vector<Gap> gaps;                // steps have names within the module
  std::set<std::string> optional;       // attributes that only branches ask for, and that turn one of them
  std::set<const void*> compared = {};  // functions of the executed text, by their definitions
  bool rewritten = false;
};

// Of one module in both texts. The error: a statement that is not followed.
std::expected<EditedCalls, Unclear> compare_calls(const Ref& was, const Ref& is, const Skips& skips);

}  // namespace hotlens::layers
