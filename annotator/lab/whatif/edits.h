// What edits of programs share: reading arguments, replacing operators and tensors, letting go in time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/format.h"
#include "annotator/lab/structure/releases.h"
#include "annotator/lab/whatif/kinds.h"

namespace hotlens::lab {

// By position or by name; null where it is left to its default.
const Value* argument(const Operator& op, std::size_t position, std::string_view name);
Value* argument(Operator& op, std::size_t position, std::string_view name);

// Whole or real; nullopt for anything else, and for a number that follows the batch size.
std::optional<double> number(const Value* value);
TensorId tensor_of(const Value* value);  // kNoTensor where it is none
bool is_true(const Value* value);

// In the operator's arguments; what it gives back in place follows.
void replace_tensor(Operator& op, TensorId was, TensorId is);

bool is_real(std::string_view dtype);
std::string module_of(const Program& program, const Operator& op);
NotHere not_here_at(const Program& program, const Operator& op, std::string reason);
// The operator's module joins the list, once.
void add_module(std::vector<std::string>& modules, const Program& program, const Operator& op);

using format::counted;

// Operators [begin, end) give way to others. What the range made, and neither the others nor anybody before, is gone, and its releases with
// it; other releases within the range stay.
struct Replacement {
  std::size_t begin = 0, end = 0;
  std::vector<Operator> operators;
};
std::size_t library_operators(const Program& program, const Replacement& replacement);  // in the range
// In order, without overlap.
void replace_operators(Program& program, std::vector<Replacement> replacements);

}  // namespace hotlens::lab
