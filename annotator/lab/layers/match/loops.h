// How methods of a module's class go through a list of layers.
#pragma once

#include <string>

#include "annotator/lab/layers/match/methods.h"

namespace hotlens::layers {

struct ListUse {
  enum class Kind : std::uint8_t {
    hands_on,  // `for layer in self.name: x = layer(x, …)`, also with `enumerate` or an index
    rounds,    // a loop that calls each entry and does the same with each
    gathered,  // `[layer(x) for layer in self.name]`: all take the same, and what they give is taken together
    other
  };
  Kind kind = Kind::hands_on;
  bool last_apart = false;  // `self.name[-1]` is called beside the loop
  Node at;                  // rounds: the loop, null where no method of the class has one; other: the first use that is neither
};
// Whether an expression is all of the slice of an attribute, `[: bound]`.
bool is_bound_of_list(Node bound);

// Of an attribute of a module.
ListUse use_of_list(const Ref& module, const std::string& name, const Skips& skips);

}  // namespace hotlens::layers
