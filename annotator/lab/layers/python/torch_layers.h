// Layers of torch.nn: what their constructors are called with, and the shapes of what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// Parameters of the constructor in order; empty: a class that is not known here.
std::span<const std::string_view> constructor_parameters(std::string_view layer);

// What the constructor is given under this name, by position or by name; null where it is left to its default.
// Whether it is all that it holds: what it is made with changes nothing else.
bool is_container(std::string_view layer);
// LSTM, GRU, RNN: layers that go through time.
bool is_recurrent(std::string_view layer);

// Whether another value of the argument leaves the layer's operators and tensors what they are but for sizes and numbers.
bool follows(const Value& layer, std::string_view parameter);
// Two layers of one class, of which another argument differs: one stands for the other as a layer of another kind would.
bool is_exchanged(const Value& was, const Value& is);
Ref argument(const Value& layer, std::string_view name);

// "Linear(96, 384)": the class with its first arguments.
std::string shown(const Value& layer);

// As written; what is left to its default is empty, but for a bias, which most layers have.
std::string written_argument(const Value& layer, std::string_view name);
// "Linear(96, 384 → 512)": both, with all that is given.
std::string shown_change(const Value& was, const Value& is);

using Shape = std::vector<std::int64_t>;
// Of what torch.zeros and its like make; nullopt: the value is none of them, or its shape is not known.
std::optional<Shape> made_shape(const Value& tensor);
// Of a parameter or buffer by its name within the layer ("weight", "running_mean", "weight_ih_l0"). Nullopt: not known.
std::optional<Shape> shape_of(const Value& layer, std::string_view tensor);

}  // namespace hotlens::layers
