// What scripts may do to a model after it was made: the methods that they call, the attributes that they set from outside.
//
// A guess from the text alone: which object a name means there is not looked into.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "annotator/guess/python/code.h"

namespace hotlens::guess {

struct Afterwards {
  struct Given {
    Node value, statement;
  };
  std::set<std::string, std::less<>> called;   // `anything.name(…)`
  std::multimap<std::string, Given> assigned;  // `anything.name = …`, `setattr(anything, "name", …)`; those to `self` are left out
  std::multimap<std::string, Given> entered;   // `anything.name[…] = …`
  std::vector<Given> anywhere;                 // `setattr(anything, name, …)`, `anything._modules[name] = …`
};

Afterwards afterwards(std::span<const Code* const> scripts);

}  // namespace hotlens::guess
