// What an operator costs in arithmetic and bytes, by rules of our own from what it was given.
//
// One rule, one pure function (products.cpp, convolutions.cpp, attention.cpp, recurrent.cpp, moves.cpp); the table in cost.cpp says which
// operator has which. Arithmetic is that of products, convolutions, attention and recurrent layers, a multiplication and an addition
// counted as two; everything else moves data and has none. Bytes are the least that must go: each operand read once, the result written
// once. An operator without a rule, or whose recording does not tell what a rule needs, has no cost: nothing is guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "annotator/kernels/costs/arguments.h"

namespace hotlens::kernels {

enum class Work : std::uint8_t { product, convolution, attention, recurrent, move };
constexpr std::size_t kWorks = 5;
std::string_view name(Work work);  // "product"

struct Cost {
  Work work = Work::move;
  double flops = 0;
  std::optional<double> bytes;  // absent where the type of an operand is not told
  std::string_view type;        // of the first operand: "f32", "bf16"; empty where not told, and of moves
};

// Whether an operator of this name has a rule: "aten::addmm".
bool has_rule(std::string_view operator_name);
// Whether its rule is one of arithmetic: then it may hand the work on to an operator inside it that has one too.
bool has_arithmetic(std::string_view operator_name);

std::optional<Cost> cost(std::string_view operator_name, const Arguments& arguments);

}  // namespace hotlens::kernels
