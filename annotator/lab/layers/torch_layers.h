// Layers of torch.nn: what their constructors are called with, and the shapes of what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/value.h"

namespace hotlens::layers {

// Parameters of the constructor in order; empty: a class that is not known here.
std::span<const std::string_view> constructor_parameters(std::string_view layer);

// What the constructor is given under this name, by position or by name; null where it is left to its default.
Ref argument(const Value& layer, std::string_view name);

// "Linear(96, 384)": the class with its first arguments.
std::string shown(const Value& layer);

using Shape = std::vector<std::int64_t>;
// Of a parameter or buffer by its name within the layer ("weight", "running_mean", "weight_ih_l0"). Nullopt: not known.
std::optional<Shape> shape_of(const Value& layer, std::string_view tensor);

}  // namespace hotlens::layers
