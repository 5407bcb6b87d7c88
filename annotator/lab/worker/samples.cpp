#include "annotator/lab/worker/samples.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <sstream>

#include "annotator/lab/worker/clock.h"

namespace hotlens::lab {
namespace {

using std::chrono::nanoseconds;

constexpr int kMostRuns = 3;
constexpr std::chrono::milliseconds kLongCall{60};  // no further run of a call after so long
constexpr double kGradient = 1e-3;                  // far from zeros and from denormal numbers

void describe(const c10::IValue& value, std::ostream& to) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) {
      to << "none,";
      return;
    }
    to << tensor.scalar_type() << tensor.sizes() << tensor.strides() << ',';
  } else if (value.isList()) {
    to << '(';
    for (const c10::IValue& one : value.toListRef()) describe(one, to);
    to << ')';
  } else if (value.isGenerator() || value.isCapsule()) {
    throw Unsampled("an argument cannot be compared");
  } else {
    to << value << ',';
  }
}

template <class Each>
void for_each_tensor_in(const c10::IValue& value, const Each& each) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) each(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& one : value.toListRef()) for_each_tensor_in(one, each);
  }
}

// A copy of the argument in which tensors are others.
template <class Other>
c10::IValue with_others(const c10::IValue& value, const Other& other) {
  if (value.isTensor()) return value.toTensor().defined() ? other(value.toTensor()) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& one : value.toTensorVector()) list.push_back(other(one));
    return list;
  }
  if (!value.isList()) return value;
  const auto old = value.toList();
  c10::impl::GenericList list(old.elementType());
  for (const c10::IValue& one : value.toListRef()) list.push_back(with_others(one, other));
  return list;
}

bool writes(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& one) { return one.alias_info() && one.alias_info()->isWrite(); });
}

// What an operator that writes gives back: the tensors that it wrote to.
std::vector<at::Tensor> written(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  std::vector<at::Tensor> found;
  for (std::size_t at = 0; at < schema.arguments().size(); ++at) {
    const c10::AliasInfo* alias = schema.arguments()[at].alias_info();
    if (alias != nullptr && alias->isWrite()) for_each_tensor_in(stack[at], [&](const at::Tensor& one) { found.push_back(one); });
  }
  return found;
}

bool shares_memory(const std::vector<at::Tensor>& results, const torch::jit::Stack& arguments) {
  bool shares = false;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor_in(argument, [&](const at::Tensor& given) {
      for (const at::Tensor& made : results) shares = shares || (made.defined() && made.has_storage() && made.is_alias_of(given));
    });
  }
  return shares;
}

bool has_whole_numbers(const std::vector<at::Tensor>& tensors) {
  return std::ranges::any_of(tensors, [](const at::Tensor& one) { return one.defined() && !one.is_floating_point(); });
}

// The first run takes memory for the first time.
template <class Run>
nanoseconds shortest(const Run& run) {
  nanoseconds least = nanoseconds::max();
  const nanoseconds begin = now();
  for (int times = 0; times < kMostRuns && (times == 0 || now() - begin < kLongCall); ++times) {
    const nanoseconds start = now();
    run(times == 0);
    least = std::min(least, now() - start);
  }
  return least;
}

// What the engine takes for a graph of one node that does nothing.
nanoseconds engine_time() {
  static const nanoseconds kTime = [] {
    nanoseconds least = nanoseconds::max();
    for (int i = 0; i < 5; ++i) {
      const at::Tensor leaf = at::ones({1}).set_requires_grad(true);
      const c10::AutoGradMode on(true);
      const at::Tensor view = leaf.view({1, 1});
      const at::Tensor gradient = at::ones({1, 1});
      least = std::min(least, shortest([&](bool) { torch::autograd::grad({view}, {leaf}, {gradient}, true); }));
    }
    return least;
  }();
  return kTime;
}

}  // namespace

void Samples::begin(const Program& program, const Bindings& bindings) {
  if (program.device.starts_with("cuda")) throw Unsampled("calls of a device are not measured one by one");
  listed_ = program.tensors.size();
  follows_.assign(program.ids, false);
  for (std::size_t id = 0; id < listed_; ++id) follows_[id] = bindings.tensors[id].defined() && bindings.tensors[id].requires_grad();
  time_ = {};
}

std::vector<at::Tensor> Samples::followed(const Operator& op, const Bindings& bindings) const {
  std::vector<at::Tensor> found;
  if (!op.grad) return found;
  for_each_tensor(op, [&](TensorId id) {
    if (follows_[static_cast<std::size_t>(id)]) found.push_back(bindings.tensor(id));
  });
  return found;
}

void Samples::call(const Operator& op, const c10::OperatorHandle& handle, Bindings& bindings) {
  const c10::NoGradGuard off;
  torch::jit::Stack stack = arguments(op, handle.schema(), bindings);
  const std::vector<at::Tensor> through = followed(op, bindings);
  std::ostringstream key;
  key << op.name << '.' << op.overload << ' ' << op.autocast << ' ';
  for (const c10::IValue& value : stack) describe(value, key);
  for_each_tensor(op, [&](TensorId id) { key << (op.grad && follows_[static_cast<std::size_t>(id)]); });

  const auto [known, is_new] = samples_.try_emplace(std::move(key).str());
  Sample& sample = known->second;
  if (is_new) sample = measure(handle, stack, through);
  time_ += sample.time;
  const bool in_place = writes(handle.schema());
  std::vector<at::Tensor> results = in_place ? written(handle.schema(), stack) : sample.results;
  if (sample.runs_always && !in_place) {
    if (!is_new) {
      handle.callBoxed(stack);
      results = results_in(stack);
    }
    sample.results.clear();
  }
  expect_as_many(op, handle.schema(), results.size());
  const bool goes_on = !through.empty() && op.name != "aten::detach";
  for (std::size_t at = 0; at < op.out.size(); ++at) {
    if (op.out[at] == kNoTensor) continue;
    const auto id = static_cast<std::size_t>(op.out[at]);
    const bool real = at < results.size() && results[at].defined() && (results[at].is_floating_point() || results[at].is_complex());
    follows_[id] = (in_place && follows_[id]) || (goes_on && real);
  }
  set_results(op, std::move(results), bindings);
}

Samples::Sample Samples::measure(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                                 const std::vector<at::Tensor>& followed) {
  Sample sample;
  torch::jit::Stack given;
  sample.time = shortest([&](bool first) {
    given = stack;
    handle.callBoxed(given);
    if (first) sample.results = results_in(given);
  });
  if (!followed.empty()) sample.time += backward_time(handle, stack, followed);
  sample.runs_always = has_whole_numbers(sample.results) || shares_memory(sample.results, stack);
  return sample;
}

nanoseconds Samples::backward_time(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                                   const std::vector<at::Tensor>& followed) {
  const c10::AutoGradMode on(true);
  std::map<const c10::TensorImpl*, at::Tensor> leaves;
  for (const at::Tensor& one : followed) leaves.try_emplace(one.unsafeGetTensorImpl(), one.detach().set_requires_grad(true));
  const bool in_place = writes(handle.schema());
  torch::jit::Stack given;
  for (const c10::IValue& value : stack) {
    given.push_back(with_others(value, [&](const at::Tensor& one) {
      const auto leaf = leaves.find(one.unsafeGetTensorImpl());
      if (leaf == leaves.end()) return in_place ? one.clone() : one;
      return in_place ? leaf->second.clone() : leaf->second;  // a leaf is not written to
    }));
  }
  const std::vector<at::Tensor> changed = written(handle.schema(), given);
  handle.callBoxed(given);
  std::vector<at::Tensor> made, gradients, inputs;
  for (const at::Tensor& one : in_place ? changed : results_in(given)) {
    if (!one.defined() || !one.requires_grad()) continue;
    made.push_back(one);
    gradients.push_back(at::full_like(one, kGradient));
  }
  for (const auto& [impl, leaf] : leaves) inputs.push_back(leaf);
  if (made.empty()) return {};
  const nanoseconds taken = shortest([&](bool) { torch::autograd::grad(made, inputs, gradients, true, false, /*allow_unused=*/true); });
  return std::max(taken - engine_time(), nanoseconds{});
}

void Samples::backward(Bindings& bindings) {
  for (std::size_t id = 0; id < listed_; ++id) {
    const at::Tensor& tensor = bindings.tensors[id];
    if (!tensor.defined() || !tensor.requires_grad() || tensor.grad().defined()) continue;
    std::ostringstream key;
    describe(tensor, key);
    at::Tensor& gradient = gradients_[std::move(key).str()];
    if (!gradient.defined()) gradient = at::full_like(tensor.detach(), kGradient);
    bindings.tensors[id].mutable_grad() = gradient;
  }
}

}  // namespace hotlens::lab
