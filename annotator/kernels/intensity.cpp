#include "annotator/kernels/intensity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace hotlens::kernels {
namespace {

using Shape = std::vector<double>;

constexpr std::size_t kMostShapes = 16;  // products have five at most

// "[[2, 3], [], [4]]" to its inner lists; what is deeper or no number ends the reading.
std::vector<Shape> shapes_of(std::string_view text) {
  std::vector<Shape> shapes;
  int depth = 0;
  for (std::size_t at = 0; at < text.size() && shapes.size() < kMostShapes; ++at) {
    if (text[at] == '[') {
      if (++depth > 2) break;
      if (depth == 2) shapes.emplace_back();
    } else if (text[at] == ']') {
      --depth;
    } else if (text[at] >= '0' && text[at] <= '9' && depth == 2) {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (error != std::errc{}) break;
      shapes.back().push_back(static_cast<double>(number));
      at = static_cast<std::size_t>(end - text.data()) - 1;
    }
  }
  return shapes;
}

int element_bytes(std::string_view types) {
  if (types.contains("BFloat16") || types.contains("Half")) return 2;
  if (types.contains("float")) return 4;
  return types.contains("double") ? 8 : 0;
}

bool is_product(std::string_view name) {
  constexpr std::array<std::string_view, 4> kProducts = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"};
  return std::ranges::find(kProducts, name) != kProducts.end();
}

}  // namespace

std::optional<Product> product(std::string_view operator_name, std::string_view dims, std::string_view types) {
  const int size = element_bytes(types);
  if (!is_product(operator_name) || size == 0) return std::nullopt;
  std::vector<Shape> shapes = shapes_of(dims);
  std::erase_if(shapes, [](const Shape& shape) { return shape.size() < 2; });
  if (shapes.size() < 2) return std::nullopt;
  const Shape& left = shapes[shapes.size() - 2];
  const Shape& right = shapes[shapes.size() - 1];
  if (left.back() != right[right.size() - 2]) return std::nullopt;
  const double rows = left[left.size() - 2];
  const double inner = left.back();
  const double columns = right.back();
  const double moved = rows * inner + inner * columns + rows * columns;
  if (moved <= 0) return std::nullopt;
  return Product{2 * rows * inner * columns / (moved * size), size};
}

bool is_bound_by_memory(const Product& product) {
  const double least = product.element_bytes == 2 ? 64 : product.element_bytes == 4 ? 8 : 4;
  return product.flops_per_byte < least;
}

}  // namespace hotlens::kernels
