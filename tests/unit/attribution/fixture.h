// Small traces written down as calls: times in microseconds, one thread unless another is named.
#pragma once

#include <string>

#include "annotator/attribution/account/account.h"
#include "annotator/attribution/owners/owners.h"
#include "annotator/attribution/structure/annotations.h"

namespace hotlens::attribution {

struct Extra {
  std::int64_t sequence = trace::kNone;
  std::int32_t forward_thread = 0;
  std::int64_t correlation = trace::kNone;
  std::uint32_t thread = 0;
};

inline std::string evaluation(const std::string& node) {
  return "autograd::engine::evaluate_function: " + node;
}

class Script {
 public:
  Script& op(const std::string& name, std::int64_t start, std::int64_t duration, Extra extra = {}) {
    return add(trace::Category::cpu_op, name, start, duration, extra);
  }
  // An autograd node: what the engine evaluates. It goes back to the operator with the same number on the first forward thread.
  Script& backward(const std::string& name, std::int64_t start, std::int64_t duration, std::int64_t sequence = trace::kNone,
                   std::uint32_t thread = 0) {
    return op(evaluation(name), start, duration,
              {.sequence = sequence, .forward_thread = sequence == trace::kNone ? 0 : 1, .thread = thread});
  }
  Script& accumulate(std::int64_t start, std::int64_t duration, std::uint32_t thread = 0) {
    return backward("torch::autograd::AccumulateGrad", start, duration, trace::kNone, thread);
  }
  Script& range(const std::string& name, std::int64_t start, std::int64_t duration, Extra extra = {}) {
    return add(trace::Category::annotation, name, start, duration, extra);
  }
  Script& frame(const std::string& name, std::int64_t start, std::int64_t duration, Extra extra = {}) {
    return add(trace::Category::python, name, start, duration, extra);
  }
  Script& launch(std::int64_t correlation, std::int64_t start, std::int64_t duration, const std::string& name = "cudaLaunchKernel",
                 std::uint32_t thread = 0) {
    return add(trace::Category::runtime, name, start, duration, {.correlation = correlation, .thread = thread});
  }
  Script& kernel(const std::string& name, std::int64_t correlation, std::int64_t start, std::int64_t duration, std::uint32_t stream = 90) {
    return add(trace::Category::kernel, name, start, duration, {.correlation = correlation, .thread = stream});
  }
  Script& copy(const std::string& name, std::int64_t correlation, std::int64_t start, std::int64_t duration) {
    return add(trace::Category::copy, name, start, duration, {.correlation = correlation, .thread = 90});
  }

  // Threads that are named from now on belong to another process.
  Script& process(const std::string& id) {
    process_ = id;
    return *this;
  }
  trace::Trace& trace() { return trace_; }
  const trace::Trace& trace() const { return trace_; }

 private:
  Script& add(trace::Category category, const std::string& name, std::int64_t start, std::int64_t duration, const Extra& extra) {
    while (trace_.threads.size() <= extra.thread) trace_.threads.push_back({process_, std::to_string(trace_.threads.size()), "", {}});
    trace::Events& events = trace_.events;
    events.name.push_back(trace_.names.intern(name));
    events.category.push_back(category);
    events.thread.push_back(trace::ThreadId{extra.thread});
    events.start.push_back(std::chrono::microseconds(start));
    events.duration.push_back(std::chrono::microseconds(duration));
    events.correlation.push_back(extra.correlation);
    events.sequence.push_back(extra.sequence);
    events.forward_thread.push_back(extra.forward_thread);
    events.index.push_back(static_cast<std::uint32_t>(events.index.size()));
    return *this;
  }

  trace::Trace trace_;
  std::string process_ = "1";
};

inline Ns us(std::int64_t value) {
  return std::chrono::microseconds(value);
}

// Everything that follows from a trace.
struct Read {
  explicit Read(const Script& script, const ModuleMap* map = nullptr)
      : trace(script.trace()),
        forest(module_forest(trace)),
        steps(find_steps(trace, forest)),
        owners(find_owners(trace, forest, steps, map)) {}

  std::uint32_t node(std::string_view name, std::size_t nth = 0) const {
    for (std::uint32_t at = 0; at < forest.size(); ++at) {
      if (trace.names[trace.events.name[forest.event[at]]] == name && nth-- == 0) return at;
    }
    return kNoNode;
  }
  const Owner& owner(std::string_view name, std::size_t nth = 0) const { return owners.of[node(name, nth)]; }
  // The module of a node's innermost call; kNothing where it has none.
  std::uint32_t module(std::string_view name, std::size_t nth = 0) const {
    const std::uint32_t call = owner(name, nth).call;
    return call == kNothing ? kNothing : owners.calls.value[call];
  }

  const trace::Trace& trace;
  Forest forest;
  Steps steps;
  Owners owners;
};

// A model (module 0) with two layers (1 and 2), and a loss (3); calls and parameters have the number of their module.
inline ModuleMap small_map() {
  return {.module_of_call = {0, 1, 2, 3},
          .module_of_param = {0, 1, 2},
          .module_parent = {kNothing, 0, 0, kNothing},
          .module_class = {0, 1, 2, 3},
          .role = {RootRole::model, RootRole::model, RootRole::model, RootRole::loss},
          .lines = 8};
}

}  // namespace hotlens::attribution
