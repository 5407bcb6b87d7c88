// A step of which each different call runs once; what the others would give and take is told from it. A model's layers are alike, so
// this takes a fraction of the step and knows all its sizes.
//
// Calls are alike where the operator, its numbers, and dtype, sizes and strides of its tensors are. Gradients are not kept from call to
// call: the backward pass of each is measured right after it. Views, and what gives whole numbers or truth values, always run, so that
// indices stay right; all other values are those of the first call. Memory is not that of a step.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/arguments.h"
#include "annotator/lab/worker/following.h"

namespace hotlens::lab {

// A step that cannot be told from samples.
struct Unsampled : Unfollowed {
  using Unfollowed::Unfollowed;
};

class Samples {
 public:
  // Of a step of this program; what earlier steps measured is used again.
  void begin(const Program& program, const Bindings& bindings);

  void call(const Operator& op, const c10::OperatorHandle& handle, Bindings& bindings);
  // Parameters get gradients of their sizes.
  void backward(Bindings& bindings);

  // Of the step since its begin.
  std::chrono::nanoseconds time() const { return time_; }

 private:
  struct Sample {
    std::vector<at::Tensor> results;
    bool runs_always = false;
    std::chrono::nanoseconds time{};  // forward and backward
  };

  Sample measure(const c10::OperatorHandle& handle, const torch::jit::Stack& stack, const std::vector<at::Tensor>& followed);
  std::chrono::nanoseconds backward_time(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                                         const std::vector<at::Tensor>& followed);
  // Those of the arguments that the backward pass goes through.
  std::vector<at::Tensor> followed(const Operator& op, const Bindings& bindings) const;

  std::map<std::string, Sample> samples_;        // by call
  std::map<std::string, at::Tensor> gradients_;  // by dtype and sizes
  std::vector<bool> follows_;                    // of each tensor of the program: whether the backward pass goes through it
  std::size_t listed_ = 0;                       // tensors that are there before the step
  std::chrono::nanoseconds time_{};
};

}  // namespace hotlens::lab
