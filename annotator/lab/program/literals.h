// Whole numbers that an operator was given, and what they may be now by the numbers that its module holds and the sizes around it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "annotator/lab/program/follow.h"

namespace hotlens::lab {

// Thrown where what a literal is now cannot be told.
struct UnknownSize {
  std::string why;
};

std::int64_t product(const Sizes& sizes);

// An argument that is a number; null: it is none.
Whole* whole_at(Operator& op, std::size_t at);
// One that is a list of numbers; nullopt: it is none, or some follow the batch.
std::optional<Sizes> list_at(const Operator& op, std::size_t at);
void set_list(Operator& op, std::size_t at, const Sizes& sizes);

// What a literal may be now by what the module holds; empty where it holds no such number.
std::set<std::int64_t> held(std::int64_t literal, const Numbers& numbers);
std::optional<std::int64_t> only(const std::set<std::int64_t>& found);
bool moves(std::int64_t literal, const Numbers& numbers);
// Of a literal that no dimension of the operator's own tensor explains: by what the module holds, else by the sizes around.
std::int64_t by_what_is_around(std::int64_t literal, const Around& around, bool first);

}  // namespace hotlens::lab
