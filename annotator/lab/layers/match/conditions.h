// What a condition of `forward` gives for one module, where what the module holds decides it: `self.rate > 0`, `self.norm is not None`,
// `not self.first`.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// Nullopt for another sign.
std::optional<bool> compares(std::string_view sign, double one, double other);

// What an attribute of the module is; null: nobody may say.
using Holding = std::function<Ref(std::string_view attribute)>;

std::optional<bool> holds(Node condition, const Holding& held);

}  // namespace hotlens::layers
