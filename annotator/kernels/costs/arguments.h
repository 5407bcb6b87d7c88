// What an operator was given, from the texts that a recording with record_shapes has for it: sizes, types, and values of what is no tensor.
//
// Texts are JSON arrays as the trace has them (trace::Inputs) and hostile: what is no such array has no arguments, and no more than some
// thousand sizes are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hotlens::kernels {

using Shape = std::vector<std::int64_t>;

// The number of elements; of what no memory could hold, nothing.
std::optional<double> elements(const Shape& shape);

struct Argument {
  std::vector<Shape> tensors;  // one of a tensor, any number of a list of them; none of anything else
  int element_bytes = 0;       // 0: not known
  std::string_view type;       // "float", "TensorList"; empty where not told
  std::string_view value;      // "[2, 2]", "False"; empty of tensors, and before torch 2.1
};

// A row of an operator; the texts must outlive what is read from them.
class Arguments {
 public:
  Arguments(std::string_view shapes, std::string_view types, std::string_view values);

  const std::vector<Argument>& all() const { return all_; }
  // The only tensor of the argument at a position; null where it is none.
  const Shape* tensor(std::size_t at) const;
  const Argument* at(std::size_t at) const { return at < all_.size() ? &all_[at] : nullptr; }
  // "[2, 2]" and "2" as numbers, "False" as a truth; nothing where the trace does not tell.
  std::optional<Shape> numbers(std::size_t at) const;
  std::optional<std::int64_t> integer(std::size_t at) const;
  std::optional<bool> truth(std::size_t at) const;
  std::optional<std::vector<bool>> truths(std::size_t at) const;  // "[True, False]"

 private:
  std::vector<Argument> all_;
};

}  // namespace hotlens::kernels
