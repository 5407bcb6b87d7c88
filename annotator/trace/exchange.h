// What a range's name and shapes tell of an exchange between processes.
#pragma once

#include <cstdint>
#include <string_view>

namespace hotlens::trace {

// "all_reduce" of the range "gloo:all_reduce"; empty where the name is none that torch gives to an exchange.
std::string_view exchange_of(std::string_view name);

// Elements of all tensors together of shapes as written: 12 for "[[[3, 2], [6]], []]"; scalars count nothing. kNone where they do not fit.
std::int64_t elements_in(std::string_view shapes);

// The first string of an array of strings as written, however deep: "float" of "[[\"float\"], \"\"]".
std::string_view first_text(std::string_view array);

}  // namespace hotlens::trace
