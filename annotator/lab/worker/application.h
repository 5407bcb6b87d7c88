// An application of a custom autograd function: one node of the graph, whose backward pass is a list of operators as its script's was.
//
// It keeps what torch's own node for Python keeps, as long: saved tensors until it has run, all else as long as the graph is there.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <functional>
#include <string>
#include <vector>

namespace hotlens::lab {

// A shared_ptr, since torch 2.13 an intrusive_ptr.
using NodeOwner = decltype(torch::autograd::Edge::function);

class Application : public torch::autograd::Node {
 public:
  // Gradients of the results in, of the inputs out; one is undefined where there is none.
  using Backward = std::function<std::vector<at::Tensor>(Application&, std::vector<at::Tensor>)>;

  Application(std::string function, const std::vector<at::Tensor>& inputs);
  static NodeOwner make(const std::string& function, const std::vector<at::Tensor>& inputs);

  void give(const std::vector<at::Tensor>& results);  // which get their gradients from here on
  void keep(const std::vector<at::Tensor>& tensors);  // of those that it gives as well
  void then(Backward backward) { backward_ = std::move(backward); }
  std::vector<at::Tensor> kept();

  std::string name() const override { return function_ + "Backward"; }
  void release_variables() override;

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;

 private:
  struct Result {
    std::vector<std::int64_t> sizes;
    at::TensorOptions options;
  };

  std::string function_;
  std::vector<Result> results_;
  std::vector<torch::autograd::SavedVariable> saved_;
  Backward backward_;
};

}  // namespace hotlens::lab
