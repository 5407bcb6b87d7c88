// Who makes each tensor of a program, and who reads it: what edits need that know a formula by its operators.
//
// An operator in place makes its tensor anew, under the same id. Releases are no readers. Writes through views are not seen.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

class Dataflow {
 public:
  explicit Dataflow(const Program& program);

  // The last operator before `before` that makes the tensor; kNowhere: it is from before the step.
  std::size_t maker(TensorId id, std::size_t before) const;
  // Those that read what `maker` left in the tensor, in order; one that makes it anew is the last.
  std::vector<std::size_t> readers(TensorId id, std::size_t maker) const;
  // Operators that make the tensor, in order.
  const std::vector<std::size_t>& makers(TensorId id) const { return makers_[static_cast<std::size_t>(id)]; }
  // As recorded; nullptr where that is not known.
  const std::vector<Whole>* shape(TensorId id, std::size_t before) const;
  // Whether a backward pass goes through the tensor.
  bool is_differentiated(TensorId id) const { return differentiated_[static_cast<std::size_t>(id)]; }
  // A number, also one that stands in a tensor without dimensions.
  std::optional<double> constant(const Value* value, std::size_t before) const;

 private:
  const Program& program_;
  std::vector<std::vector<std::size_t>> makers_, readers_;  // by id
  std::vector<bool> differentiated_;
};

// "mul" of aten::mul and aten::mul_.
std::string_view base_name(const Operator& op);

// Operators before `until` let none of these go: they are let go right after it instead, in `to`. `from`: where to look.
void hold(Program& program, const std::vector<TensorId>& ids, std::size_t from, std::size_t until, std::vector<Operator>& to);

}  // namespace hotlens::lab
