// What an edit of `forward` calls otherwise, where its statements are plain: `x = self.act(self.fc(x))`, `return self.head(F.relu(x))`.
//
// An expression of calls with one argument each is a sequence; two of them are compared call by call. Everything else must be as it was.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"

namespace hotlens::layers {

// Whether a condition holds, where that is known: `self.dropout is not None`.
using Holds = std::function<std::optional<bool>(Node condition)>;

// Steps have names within the module. The error: a statement that was edited and is not plain.
std::expected<std::vector<Gap>, Unclear> forward_gaps(Node was, Node is, const Holds& held, const Holds& holds);

// The end of a step's path that stands for each entry of a list in turn: "blocks.*" where `block` of `for block in self.blocks:` is called.
constexpr std::string_view kEach = ".*";

// Whether it is in a loop of its function.
bool is_repeated(Node node);

// "relu" of `F.relu`, `torch.relu(x)` and `x.relu()`; of a step that is a function.
std::string function_name(const Step& step);

}  // namespace hotlens::layers
