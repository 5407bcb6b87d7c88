// Lists of layers that all take the same, and whose results one operator takes together, as in `torch.cat([head(x) for head in
// self.heads])`.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "annotator/lab/structure/calls.h"

namespace hotlens::lab {

// Without this call, one of several. The error: something else than one operator with a list takes what it gives, or it is the only one.
std::expected<void, std::string> remove_gathered(Draft& draft, const Call& call);

// With new operators behind a call; what they give comes behind what that gives. The error: as above.
std::expected<void, std::string> insert_gathered(Draft& draft, const Call& beside, Called made);

}  // namespace hotlens::lab
