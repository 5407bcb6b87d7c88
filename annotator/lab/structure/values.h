// Arguments of layers as arguments of operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "annotator/lab/layers/python/value.h"
#include "annotator/lab/program/program.h"

namespace hotlens::layers {

std::optional<std::int64_t> whole_of(const Ref& value);
lab::Value number(std::int64_t value);
// `3` or `(3, 3)` as the list that an operator takes; nullopt where it is neither.
std::optional<lab::Value> list_of(const Ref& value, std::size_t dimensions, std::int64_t otherwise);
// None, a truth value, a number or a text.
std::optional<lab::Value> plain_of(const Ref& value);
// Of an argument that is true or false.
std::optional<bool> is_on(const Value& layer, std::string_view name, bool otherwise = true);

}  // namespace hotlens::layers
