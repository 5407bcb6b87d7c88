#include "annotator/kernels/intensity.h"

#include "annotator/kernels/costs/cost.h"

namespace hotlens::kernels {
namespace {

// 0 of what no accelerator multiplies.
int floating_bytes(std::string_view type) {
  return type == "bf16" || type == "f16" ? 2 : type == "f32" ? 4 : type == "f64" ? 8 : 0;
}

}  // namespace

std::optional<Product> product(std::string_view operator_name, std::string_view dims, std::string_view types) {
  if (!has_arithmetic(operator_name)) return std::nullopt;
  const auto of = cost(operator_name, Arguments(dims, types, {}));
  if (!of || of->work != Work::product || !of->bytes || *of->bytes <= 0) return std::nullopt;
  const int size = floating_bytes(of->type);
  return size > 0 ? std::optional(Product{of->flops / *of->bytes, size}) : std::nullopt;
}

bool is_bound_by_memory(const Product& product) {
  const double least = product.element_bytes == 2 ? 64 : product.element_bytes == 4 ? 8 : 4;
  return product.flops_per_byte < least;
}

}  // namespace hotlens::kernels
