#include "annotator/lab/worker/replay.h"

#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/cuda.h>

#include <atomic>
#include <set>
#include <utility>

#include "annotator/lab/worker/clock.h"

namespace hotlens::lab {
namespace {

using std::chrono::nanoseconds;

std::atomic<const char*> g_running = "";

struct Clocks {
  nanoseconds time{}, wall{}, cpu{};
  std::int64_t faults = 0;
};

Clocks clocks() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.time = now(), .wall = now(CLOCK_MONOTONIC), .cpu = now(CLOCK_PROCESS_CPUTIME_ID), .faults = usage.ru_minflt};
}

// What runs in here leaves nothing in the cache of autocast.
struct OwnCache {
  OwnCache() = default;
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() { at::autocast::clear_cache(); }
};

void call(const Operator& op, const c10::OperatorHandle& handle, Bindings& bindings) {
  torch::jit::Stack stack = arguments(op, handle.schema(), bindings);
  handle.callBoxed(stack);
  std::vector<at::Tensor> results = results_in(stack);
  expect_as_many(op, handle.schema(), results.size());
  set_results(op, std::move(results), bindings);
}

// One or several; null is a tensor that is not there.
std::vector<at::Tensor> tensors_of(const Value& value, const Bindings& bindings) {
  std::vector<at::Tensor> found;
  if (const auto* tensor = std::get_if<TensorRef>(&value.is)) found.push_back(bindings.tensor(tensor->id));
  if (const auto* values = std::get_if<Values>(&value.is)) {
    for (const Value& one : *values) {
      const auto* tensor = std::get_if<TensorRef>(&one.is);
      found.push_back(tensor != nullptr ? bindings.tensor(tensor->id) : at::Tensor());
    }
  }
  return found;
}

std::vector<at::Tensor> tensors_of(const Operator& op, const Bindings& bindings) {
  std::vector<at::Tensor> found;
  for (const Value& value : op.args) {
    const auto* tensor = std::get_if<TensorRef>(&value.is);
    found.push_back(tensor != nullptr ? bindings.tensor(tensor->id) : at::Tensor());
  }
  return found;
}

// Of one for each argument of a custom autograd function those for its tensors, which are what autograd knows.
std::vector<at::Tensor> for_inputs(const Operator& function, const std::vector<at::Tensor>& all) {
  std::vector<at::Tensor> found;
  for (std::size_t at = 0; at < function.args.size(); ++at) {
    if (std::holds_alternative<TensorRef>(function.args[at].is)) found.push_back(at < all.size() ? all[at] : at::Tensor());
  }
  return found;
}

// Tensors that operators read and have not made.
std::set<TensorId> taken(const std::vector<Operator>& operators) {
  std::set<TensorId> made, found;
  for (const Operator& op : operators) {
    for_each_tensor(op, [&](TensorId id) {
      if (op.kind != OperatorKind::free && !made.contains(id)) found.insert(id);
    });
    made.insert(op.out.begin(), op.out.end());
  }
  return found;
}

std::string name_of(const Operator& op) {
  for (const auto& [key, value] : op.kwargs) {
    if (const auto* text = std::get_if<std::string>(&value.is); text != nullptr && key == "name") return *text;
  }
  return "a custom autograd function";
}

bool is_true(const Operator& op, const char* name) {
  for (const auto& [key, value] : op.kwargs) {
    if (key == name) return value == Value{true};
  }
  return false;
}

void backward(const Operator& op, const Bindings& bindings) {
  TORCH_CHECK(!op.args.empty(), "no loss is recorded");
  const auto losses = tensors_of(op.args[0], bindings);
  std::vector<at::Tensor> gradients, inputs;
  if (op.args.size() > 1) gradients = tensors_of(op.args[1], bindings);
  for (const auto& [key, value] : op.kwargs) {
    if (key == "inputs") inputs = tensors_of(value, bindings);
  }
  torch::autograd::backward(losses, gradients, is_true(op, "retain_graph"), is_true(op, "create_graph"), inputs);
}

void grad(const Operator& op, Bindings& bindings) {
  TORCH_CHECK(op.args.size() == 3, "outputs, their gradients and inputs are expected");
  const auto found =
      torch::autograd::grad(tensors_of(op.args[0], bindings), tensors_of(op.args[2], bindings), tensors_of(op.args[1], bindings),
                            is_true(op, "retain_graph"), is_true(op, "create_graph"), true);
  for (std::size_t at = 0; at < std::min(op.out.size(), found.size()); ++at) {
    if (op.out[at] != kNoTensor) bindings.tensors[static_cast<std::size_t>(op.out[at])] = found[at];
  }
}

template <class Each>
void for_each_subject(const Operator& op, const Each& each) {
  for (const Value& value : op.args) for_each_tensor(value, [&](TensorId id) { each(static_cast<std::size_t>(id)); });
}

std::vector<TensorId> inputs_of(const Operator& block) {
  std::vector<TensorId> found;
  for (const auto& [key, value] : block.kwargs) {
    if (key == "inputs") for_each_tensor(value, [&](TensorId id) { found.push_back(id); });
  }
  return found;
}

// Operators that are not called by the program itself, but by what it calls.
bool runs_others(const Operator& op) {
  return op.kind == OperatorKind::function || op.kind == OperatorKind::block || op.kind == OperatorKind::grad;
}

void let_go(const Operator& op, Bindings& bindings) {
  for_each_subject(op, [&](std::size_t id) { bindings.tensors[id].reset(); });
}

}  // namespace

const char* running_operator() {
  return g_running;
}

// Gradients and autocast as they were when each operator was called; put back at the end.
class Replay::Modes {
 public:
  explicit Modes(const Program& program)
      : device_(c10::Device(program.device.empty() ? "cpu" : program.device).type()),
        grad_(c10::GradMode::is_enabled()),
        autocast_(at::autocast::is_autocast_enabled(device_)),
        dtype_(at::autocast::get_autocast_dtype(device_)) {}
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;
  ~Modes() {
    c10::GradMode::set_enabled(grad_);
    at::autocast::set_autocast_enabled(device_, autocast_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }

  void set(const Operator& op) {
    if (c10::GradMode::is_enabled() != op.grad) c10::GradMode::set_enabled(op.grad);
    const bool on = !op.autocast.empty();
    if (at::autocast::is_autocast_enabled(device_) != on) at::autocast::set_autocast_enabled(device_, on);
    if (on) at::autocast::set_autocast_dtype(device_, dtype_named(op.autocast));
  }

 private:
  at::DeviceType device_;
  bool grad_, autocast_;  // before
  at::ScalarType dtype_;
};

Replay::Replay(Program program, Handles handles)
    : program_(std::move(program)),
      handles_(std::move(handles)),
      blocks_(blocks_of(program_)),
      before_(program_, fates_of(program_, handles_)) {}

std::map<std::size_t, Replay::Block> Replay::blocks_of(const Program& program) {
  std::map<std::size_t, Block> found;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (program.operators[at].kind != OperatorKind::block) continue;
    Block block{.end = at + 1, .given = {}};
    std::set<TensorId> made;
    std::size_t open = 1;
    for (; block.end < program.operators.size(); ++block.end) {
      const Operator& op = program.operators[block.end];
      if (op.kind == OperatorKind::block) ++open;
      if (op.kind == OperatorKind::block_end && --open == 0) break;
      for_each_tensor(op, [&](TensorId id) {
        if (computes(op) && made.insert(id).second) block.given.push_back(id);
      });
      made.insert(op.out.begin(), op.out.end());
    }
    found.emplace(at, std::move(block));
  }
  return found;
}

std::expected<Handles, Halt> Replay::handles_of(const std::vector<Operator>& operators, const Program& program) {
  Handles handles;
  handles.reserve(operators.size());
  for (const Operator& op : operators) {
    Handle handle;
    if (op.kind == OperatorKind::library) {
      handle.own = c10::Dispatcher::singleton().findSchema({op.name, op.overload});
      if (!handle.own) {
        const std::string module = op.module == kNoModule ? "" : program.modules[op.module];
        return std::unexpected(
            Halt{"is not an operator of this torch alone; a package that the script imports brings it", op.name, module});
      }
    }
    auto forward = handles_of(op.forward, program), backward = handles_of(op.backward, program);
    if (!forward) return forward;
    if (!backward) return backward;
    handle.forward = *std::move(forward);
    handle.backward = *std::move(backward);
    handles.push_back(std::move(handle));
  }
  return handles;
}

std::expected<std::unique_ptr<Replay>, Halt> Replay::prepare(Program program) {
  auto handles = handles_of(program.operators, program);
  if (!handles) return std::unexpected(handles.error());
  return std::unique_ptr<Replay>(new Replay(std::move(program), *std::move(handles)));
}

Halt Replay::halted(std::size_t at, std::string message) const {
  if (at >= program_.operators.size()) return {std::move(message), "", ""};
  const Operator& op = program_.operators[at];
  return {std::move(message), op.name, op.module == kNoModule ? "" : program_.modules[op.module], at};
}

std::vector<Sizes> Replay::sizes(std::size_t at, const Bindings& bindings) const {
  std::vector<Sizes> found;
  if (at >= program_.operators.size()) return found;
  for_each_tensor(program_.operators[at], [&](TensorId id) {
    const at::Tensor& tensor = bindings.tensors[static_cast<std::size_t>(id)];
    found.push_back(tensor.defined() ? tensor.sizes().vec() : Sizes());
  });
  return found;
}

std::expected<FollowedEdit, Halt> Replay::follow(Replay& recorded, const Followed& what, std::int64_t batch, Meter& meter, const Stop& stop,
                                                 bool sampled) {
  Following following(recorded.program_, program_, what);
  Samples samples;
  FollowedEdit done;
  const auto watched = [&](Replay& replay, const Watch& watch, std::chrono::nanoseconds& time) {
    replay.watch_ = watch;
    replay.samples_ = sampled ? &samples : nullptr;
    auto stepped = replay.step(batch, meter, stop, nullptr);
    replay.watch_ = nullptr;
    replay.samples_ = nullptr;
    time = samples.time();
    return stepped;
  };
  auto stepped = watched(recorded, [&](const Operator* op, const Bindings& bindings) { following.see(op, bindings); }, done.recorded);
  if (stepped) stepped = watched(*this, [&](Operator* op, const Bindings& bindings) { following.change(op, bindings); }, done.edited);
  if (!stepped) return std::unexpected(stepped.error());
  done.changed = following.changed();
  return done;
}

void Replay::begin_block(std::size_t at, const Bindings& bindings, Meter& meter) {
  const Operator& op = program_.operators[at];
  const Block& block = blocks_.at(at);
  const std::vector<TensorId> inputs = inputs_of(op);
  std::vector<at::Tensor> saved{at::empty({0})};  // as torch does, which saves one that has a gradient before the inputs
  for (const TensorId id : inputs) saved.push_back(bindings.tensor(id));
  std::map<TensorId, at::Tensor> given;  // what the script's function holds itself
  for (const TensorId id : block.given) {
    if (std::ranges::find(inputs, id) == inputs.end()) given[id] = bindings.tensor(id);
  }
  auto again = [this, at, end = block.end, inputs, given = std::move(given), batch = bindings.batch,
                &meter](const std::vector<at::Tensor>& tensors) {
    Bindings own{.tensors = std::vector<at::Tensor>(program_.ids), .gradient_of = {}, .batch = batch};
    for (const auto& [id, tensor] : given) own.tensors[static_cast<std::size_t>(id)] = tensor;
    for (std::size_t one = 0; one < inputs.size(); ++one) own.tensors[static_cast<std::size_t>(inputs[one])] = tensors[one + 1];
    const OwnCache cache;
    Modes modes(program_);
    for (std::size_t inside = at + 1; inside < end; ++inside) {
      g_running = program_.operators[inside].name.c_str();
      modes.set(program_.operators[inside]);
      run(inside, own, meter);
    }
  };
  TORCH_CHECK(!op.args.empty() && std::holds_alternative<Whole>(op.args[0].is), "a block has no number");
  running_blocks_->begin(std::get<Whole>(op.args[0].is).offset, is_true(op, "checkpointed"), saved, std::move(again));
}

void Replay::run_library(Operator& op, const Handle& handle, Bindings& bindings) {
  g_running = op.name.c_str();
  if (watch_) watch_(&op, bindings);
  samples_ != nullptr ? samples_->call(op, *handle.own, bindings) : call(op, *handle.own, bindings);
}

void Replay::run_within(Operator& op, const Handle& handle, Bindings& bindings, Modes& modes) {
  switch (op.kind) {
    case OperatorKind::library:
      modes.set(op);
      return run_library(op, handle, bindings);
    case OperatorKind::clear_autocast_cache:
      return at::autocast::clear_cache();
    case OperatorKind::free:
      return let_go(op, bindings);
    default:
      TORCH_CHECK(false, op.name, " cannot stand in a custom autograd function");
  }
}

void Replay::apply_function(Operator& op, const Handle& handle, Bindings& bindings) {
  std::vector<at::Tensor> inputs;
  for (const Value& value : op.args) {
    if (const auto* tensor = std::get_if<TensorRef>(&value.is)) inputs.push_back(bindings.tensor(tensor->id));
  }
  const bool has_node = op.grad && torch::autograd::any_variable_requires_grad(inputs);
  const NodeOwner owner = has_node ? Application::make(name_of(op), inputs) : NodeOwner();
  auto* const node = static_cast<Application*>(owner.get());
  Modes modes(program_);
  for (std::size_t at = 0; at < op.forward.size(); ++at) {
    Operator& inside = op.forward[at];
    if (inside.kind == OperatorKind::returned && has_node) {
      node->give(tensors_of(inside, bindings));
    } else if (inside.kind == OperatorKind::save && has_node) {
      node->keep(tensors_of(inside, bindings));
    } else if (inside.kind != OperatorKind::returned && inside.kind != OperatorKind::save) {
      run_within(inside, handle.forward[at], bindings, modes);
    }
  }
  if (!has_node) return;
  std::map<TensorId, at::Tensor> held;
  for (const TensorId id : taken(op.backward)) held[id] = bindings.tensor(id);
  node->then([this, &op, &handle, held = std::move(held), batch = bindings.batch](Application& own, std::vector<at::Tensor> gradients) {
    Bindings inner{.tensors = std::vector<at::Tensor>(program_.ids), .gradient_of = {}, .batch = batch};
    for (const auto& [id, tensor] : held) inner.tensors[static_cast<std::size_t>(id)] = tensor;
    return run_backward(op, handle, inner, own, std::move(gradients));
  });
}

std::vector<at::Tensor> Replay::run_backward(Operator& op, const Handle& handle, Bindings& bindings, Application& node,
                                             std::vector<at::Tensor> gradients) {
  TORCH_CHECK(!op.backward.empty(), "the backward pass of ", name_of(op), " did not run in the recorded step");
  std::vector<at::Tensor> results;
  Modes modes(program_);
  for (std::size_t at = 0; at < op.backward.size(); ++at) {
    Operator& inside = op.backward[at];
    if (inside.kind == OperatorKind::received) {
      set_results(inside, gradients, bindings);
    } else if (inside.kind == OperatorKind::saved) {
      set_results(inside, node.kept(), bindings);
    } else if (inside.kind == OperatorKind::returned) {
      results = for_inputs(op, tensors_of(inside, bindings));
    } else {
      run_within(inside, handle.backward[at], bindings, modes);
    }
  }
  return results;
}

void Replay::run(std::size_t at, Bindings& bindings, Meter& meter) {
  Operator& op = program_.operators[at];
  if (samples_ != nullptr && runs_others(op)) throw Unsampled(op.name + " is not measured call by call");
  switch (op.kind) {
    case OperatorKind::library:
      return run_library(op, handles_[at], bindings);
    case OperatorKind::function:
      return apply_function(op, handles_[at], bindings);
    case OperatorKind::block:
      return begin_block(at, bindings, meter);
    case OperatorKind::block_end:
      for_each_subject(op, [&](std::size_t id) { running_blocks_->end(bindings.tensor(static_cast<TensorId>(id))); });
      return;
    case OperatorKind::backward:
      if (samples_ != nullptr) return samples_->backward(bindings);
      backward(op, bindings);
      return running_blocks_->after_backward();
    case OperatorKind::grad:
      return grad(op, bindings);
    case OperatorKind::clear_autocast_cache:
      return at::autocast::clear_cache();
    case OperatorKind::input:
      return meter.add(before_.bytes_of_input(op, bindings));
    case OperatorKind::clear_gradient:
      for_each_subject(op, [&](std::size_t id) { bindings.tensors[id].mutable_grad().reset(); });
      return;
    case OperatorKind::requires_grad: {
      const bool wanted = is_true(op, "value");
      for_each_subject(op, [&](std::size_t id) { bindings.tensors[id].set_requires_grad(wanted); });
      return;
    }
    case OperatorKind::free:
      return let_go(op, bindings);
    case OperatorKind::received:
    case OperatorKind::save:
    case OperatorKind::saved:
    case OperatorKind::returned:
      TORCH_CHECK(false, op.name, " stands in no custom autograd function");
  }
}

std::expected<Replayed, Halt> Replay::step(std::int64_t batch, Meter& meter, const Stop& stop, std::vector<std::int64_t>* events,
                                           const BlockPlan& plan) {
  Bindings bindings{.tensors = std::vector<at::Tensor>(program_.ids), .gradient_of = {}, .batch = batch};
  std::size_t at = program_.operators.size();
  const bool on_device = program_.device.starts_with("cuda");
  meter.watch(on_device ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
  try {
    samples_ != nullptr ? before_.bind_sizes(bindings) : before_.bind(bindings);
    if (samples_ != nullptr) samples_->begin(program_, bindings);
    const std::int64_t start = before_.bytes(bindings);
    for (const Operator& op : program_.operators) {
      if (op.kind == OperatorKind::input) meter.add(-before_.bytes_of_input(op, bindings));
    }
    const std::int64_t held = meter.held();
    if (on_device) torch::cuda::synchronize();
    meter.reset_peak();
    if (events != nullptr) meter.keep_events();
    Blocks blocks(plan, meter);
    running_blocks_ = &blocks;
    Replayed replayed{.start_bytes = start};
    const Clocks begin = clocks();
    {
      const OwnCache cache;
      Modes modes(program_);
      for (at = 0; at < program_.operators.size(); ++at) {
        if (stop()) return std::unexpected(Halt{"stopped", "", ""});
        g_running = program_.operators[at].name.c_str();
        modes.set(program_.operators[at]);
        run(at, bindings, meter);
      }
      if (on_device) torch::cuda::synchronize();
      if (watch_) watch_(nullptr, bindings);
    }
    const Clocks end = clocks();
    if (events != nullptr) *events = meter.take_events();
    g_running = "";
    replayed.time = end.time - begin.time;
    replayed.wall = end.wall - begin.wall;
    replayed.cpu = end.cpu - begin.cpu;
    replayed.minor_faults = end.faults - begin.faults;
    replayed.again = blocks.again();
    replayed.segments = blocks.segments();
    replayed.peak_bytes = start + std::max(meter.peak(), blocks.peak()) - held;
    return replayed;
  } catch (const Unfollowed& reason) {
    Halt halt = halted(at, reason.what());
    halt.unfollowed = true;
    return std::unexpected(std::move(halt));
  } catch (const c10::Error& error) {
    Halt halt = halted(at, error.what_without_backtrace());
    halt.sizes = sizes(at, bindings);
    return std::unexpected(std::move(halt));
  } catch (const std::exception& error) {
    return std::unexpected(halted(at, error.what()));
  }
}

}  // namespace hotlens::lab
