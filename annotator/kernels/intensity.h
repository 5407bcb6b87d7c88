// Arithmetic per byte of a matrix product, from the shapes that a recording with record_shapes has for its operator.
#pragma once

#include <optional>
#include <string_view>

namespace hotlens::kernels {

struct Product {
  double flops_per_byte = 0;  // each operand read once, the result written once
  int element_bytes = 0;
};

// `dims`: "[[128, 512], [512, 512]]"; `types`: C++ names of the inputs. Nothing where the operator is no product (costs/cost.h), or its
// shapes or types do not tell.
std::optional<Product> product(std::string_view operator_name, std::string_view dims, std::string_view types);

// So few operations per byte that no accelerator in use can keep its arithmetic busy: half of what a V100, the most lopsided towards memory
// of them, has per byte of its memory's bandwidth (139 in 16 bits, 17 in 32, 9 in 64).
bool is_bound_by_memory(const Product& product);

}  // namespace hotlens::kernels
