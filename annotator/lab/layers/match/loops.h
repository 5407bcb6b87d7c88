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
  bool last_apart = false;  // `self.name[-1]` is called beside the loop, or what the last hands on is not used
  Node at;                  // rounds: the loop, null where no method of the class has one; other: the first use that is neither
};
// Whether an expression is all of the slice of an attribute, `[: bound]`.
bool is_bound_of_list(Node bound);

// Whether a use of a number in a method is `range(self.depth)` of a loop that takes entry after entry of a list of layers, or the bound of
// a slice of one, and the module's list has so many.
bool counts_list(Node use, const Ref& module, std::int64_t number);

// Of an attribute of a module.
ListUse use_of_list(const Ref& module, const std::string& name, const Skips& skips);

}  // namespace hotlens::layers
