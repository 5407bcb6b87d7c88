#include "annotator/lab/worker/application.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace hotlens::lab {

using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

template <class Owner, class Known>
Owner owner_of(Known* node) {
  if constexpr (std::is_same_v<Owner, std::shared_ptr<Node>>) {
    return node->shared_from_this();
  } else {
    return Owner::reclaim_copy(node);
  }
}

template <class Owner, class Known, class... Given>
Owner make_node(const Given&... given) {
  if constexpr (std::is_same_v<Owner, std::shared_ptr<Node>>) {
    return std::make_shared<Known>(given...);
  } else {
    return c10::make_intrusive<Known>(given...);
  }
}

}  // namespace

NodeOwner Application::make(const std::string& function, const std::vector<at::Tensor>& inputs) {
  return make_node<NodeOwner, Application>(function, inputs);
}

Application::Application(std::string function, const std::vector<at::Tensor>& inputs) : function_(std::move(function)) {
  set_next_edges(torch::autograd::collect_next_edges(inputs));
}

void Application::give(const std::vector<at::Tensor>& results) {
  for (const at::Tensor& result : results) {
    TORCH_CHECK(result.defined(), function_, " gives no tensor");
    torch::autograd::set_history(result, owner_of<NodeOwner>(static_cast<Node*>(this)));
    results_.push_back({.sizes = result.sizes().vec(), .options = result.options()});
  }
}

void Application::keep(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    const bool is_result = tensor.defined() && tensor.grad_fn().get() == this;
    saved_.emplace_back(tensor, is_result);
  }
}

std::vector<at::Tensor> Application::kept() {
  std::vector<at::Tensor> found;
  for (const auto& saved : saved_) found.push_back(saved.unpack(owner_of<NodeOwner>(static_cast<Node*>(this))));
  return found;
}

void Application::release_variables() {
  for (auto& saved : saved_) saved.reset_data();
}

// A result that nothing depends on has a gradient of zeros, as for Python.
variable_list Application::apply(variable_list&& gradients) {
  TORCH_CHECK(backward_, function_, " has no backward pass");
  for (std::size_t at = 0; at < gradients.size(); ++at) {
    if (!gradients[at].defined()) gradients[at] = at::zeros(results_.at(at).sizes, results_.at(at).options);
  }
  return backward_(*this, gradients);
}

}  // namespace hotlens::lab
