// What scripts may do to a model after it was made: the methods that they call, the attributes that they set from outside.
//
// A guess from the text alone: which object a name means there is not looked into.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "annotator/guess/python/code.h"

namespace hotlens::guess {

struct Afterwards {
  // `anything.name = value`, `setattr(anything, "name", value)`; what `self` is given is left out.
  struct Given {
    std::string name;    // '*' where it is not known: `setattr(anything, name, value)`, `anything._modules[name] = value`
    bool entry = false;  // `anything.name[…] = value`
    Node value, statement;
  };
  std::set<std::string, std::less<>> called;  // `anything.name(…)`
  std::vector<Given> given;
};

Afterwards afterwards(std::span<const Code* const> scripts);

}  // namespace hotlens::guess
