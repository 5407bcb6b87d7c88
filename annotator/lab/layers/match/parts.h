// Methods of a module's class that its `forward` calls itself, each at one place: what they call, `forward` calls.
#pragma once

#include <map>
#include <string>

#include "annotator/lab/layers/match/methods.h"

namespace hotlens::layers {

// `forward` and its parts, and theirs, by name. Empty: the class has no `forward` of its own.
using Parts = std::map<std::string, Node>;

Parts parts_of_forward(const Ref& type);

}  // namespace hotlens::layers
