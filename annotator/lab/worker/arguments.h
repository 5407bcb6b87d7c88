// Arguments of a program as the dispatcher takes them, and results as it gives them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

// A step that cannot be followed: nothing is wrong with it.
struct Unfollowed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What an operator of a program may name: the tensors by id, and the batch size that its numbers are for.
struct Bindings {
  std::vector<at::Tensor> tensors;           // undefined: not made yet, or let go
  std::map<TensorId, TensorId> gradient_of;  // gradients from before the step, which only their parameter holds
  std::int64_t batch = 0;

  // Throws c10::Error where the tensor is gone or the batch size gives no whole number.
  at::Tensor tensor(TensorId id) const;
  std::int64_t whole(const Whole& number) const;
  std::vector<std::int64_t> wholes(const std::vector<Whole>& numbers) const;
};

at::ScalarType dtype_named(const std::string& name);
std::string name_of(at::ScalarType dtype);

// The arguments in the order of the schema, its defaults where the program names none. Throws c10::Error for what does not fit.
std::vector<c10::IValue> arguments(const Operator& op, const c10::FunctionSchema& schema, const Bindings& bindings);

// Of all results and of lists among them; undefined for what is no tensor.
std::vector<at::Tensor> results_in(const std::vector<c10::IValue>& stack);
// To what the operator gives. Throws c10::Error where there are too few.
void set_results(const Operator& op, std::vector<at::Tensor> results, Bindings& bindings);
// Throws Unfollowed where an operator that gives a list (`split`) gives more or fewer than were recorded: what the script does with each is
// known of those alone.
void expect_as_many(const Operator& op, const c10::FunctionSchema& schema, std::size_t results);

}  // namespace hotlens::lab
