// What an edit of `forward` calls otherwise, where its statements are plain: `x = self.act(self.fc(x))`, `return self.head(F.relu(x))`.
//
// An expression of calls with one argument each is a sequence; two of them are compared call by call. Everything else must be as it was.
#pragma once

#include <expected>
#include <vector>

#include "annotator/lab/layers/match/chains.h"

namespace hotlens::layers {

// Of `forward` or one of its parts. Steps have names within the module. The error: a statement that was edited and is not plain.
std::expected<std::vector<Gap>, Unclear> forward_gaps(Node was, Node is, const Reading& held, const Reading& holds);

}  // namespace hotlens::layers
