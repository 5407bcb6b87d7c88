// The operators of one recorded step as values: `program.json.gz` of a bundle (annotator/recorder/FORMAT.md), decoded and checked.
//
// Every whole number may depend on the batch size, or on another number of the script: recordings at several sizes become one such program
// (join.h). The worker (annotator/lab/worker) compiles these files too, with the user's torch: nothing here knows a room but common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::lab {

// (offset + batch × numerator + batch² × square) / denominator; in JSON a number, or {"batch": [offset, numerator, denominator]}, behind
// which `square` stands where it is not 0.
struct Whole {
  std::int64_t offset = 0, numerator = 0, denominator = 1, square = 0;

  // Nullopt where the batch size gives no whole number, or none that a program can hold.
  std::optional<std::int64_t> at(std::int64_t batch) const;
  bool is_fixed() const { return numerator == 0 && square == 0; }
  bool operator==(const Whole&) const = default;
};

using TensorId = std::int64_t;  // position in Program::tensors, then what the operators make
constexpr TensorId kNoTensor = -1;

struct Nothing {
  bool operator==(const Nothing&) const = default;
};
struct TensorRef {
  TensorId id = kNoTensor;
  bool operator==(const TensorRef&) const = default;
};
struct GradientRef {
  TensorId of = kNoTensor;
  bool operator==(const GradientRef&) const = default;
};
enum class Named : std::uint8_t { dtype, device, layout, memory_format };
struct NamedValue {
  Named kind = Named::dtype;
  std::string name;
  bool operator==(const NamedValue&) const = default;
};
struct Complex {
  double real = 0, imaginary = 0;
  bool operator==(const Complex&) const = default;
};
struct Value;
using Values = std::vector<Value>;
struct Value {
  std::variant<Nothing, bool, Whole, double, Complex, std::string, TensorRef, GradientRef, NamedValue, Values> is;
  bool operator==(const Value&) const = default;
};

// Whole numbers of a tensor along one dimension: columns of a table with categories of their own each.
struct Slices {
  std::size_t dimension = 0;
  std::vector<std::int64_t> least, most;  // by index, as many as the dimension has
};

// A tensor that exists before the step.
enum class TensorKind : std::uint8_t { parameter, buffer, state, gradient, input, other };
struct Tensor {
  TensorKind kind = TensorKind::other;
  std::string name, dtype, device;
  std::vector<Whole> shape, stride;
  bool requires_grad = false;
  bool foreign = false;      // memory that no allocator of torch counts
  std::int64_t storage = 0;  // tensors with the same number share memory
  Whole offset, storage_bytes;
  std::optional<Whole> least, most;                // of whole numbers
  std::vector<Slices> slices = {};                 // …where they differ along a short dimension
  std::optional<std::pair<double, double>> range;  // of real ones
  double zeros = 0;                                // share of a state
  std::optional<Value> value;                      // where there is one element
};

constexpr std::size_t kNoModule = static_cast<std::size_t>(-1);
enum class Stage : std::uint8_t { forward, loss, zero_grad, optimizer, other };
enum class OperatorKind : std::uint8_t {
  library,
  backward,
  grad,
  clear_gradient,
  clear_autocast_cache,
  free,
  input,
  requires_grad,
  block,      // what-ifs mark calls that can be checkpointed: arguments its number, and whether it is
  block_end,  // its result
  function,   // an application of a custom autograd function; the rest is what its passes have beside operators of the library
  received,   // the gradients of its results come
  save,       // what the forward pass keeps for the backward pass
  saved,      // the same again, in the backward pass
  returned,   // what a pass gives back
};
struct Operator {
  OperatorKind kind = OperatorKind::library;
  std::string name, overload;  // "aten::add", "Tensor"
  Values args;
  std::vector<std::pair<std::string, Value>> kwargs;
  std::vector<TensorId> out;       // tensors of the result in order; kNoTensor: nobody uses it
  std::size_t module = kNoModule;  // position in Program::modules
  std::int64_t call = -1;          // module calls of the step, in order of entry
  std::int64_t line = -1;          // of the module's `forward` or a method that it calls, from 1; -1: not known
  bool grad = true;
  std::string autocast = {};  // dtype; empty: off
  Stage stage = Stage::other;
  std::vector<std::vector<Whole>> shapes = {};  // of `out`, as recorded; what-ifs read them, encode() leaves them out; empty: not known
  std::vector<std::pair<std::size_t, std::int64_t>> written = {};  // sizes of a view that the text has as numbers: place, and number
  std::vector<TensorId> last_named = {};                           // that no name holds after it: without the graph they would go then
  // Of a custom autograd function: its two passes; what they make is theirs but for `out`, what they take is in `args` and `kwargs`.
  std::vector<Operator> forward = {}, backward = {};
};

// Whether it computes: all else says what happens to tensors and gradients.
inline bool computes(const Operator& op) {
  return op.kind == OperatorKind::library || op.kind == OperatorKind::function;
}

// Whether it goes through time with a layer's weights: LSTM, GRU, RNN.
inline bool is_recurrent(const Operator& op) {
  return op.name == "aten::lstm" || op.name == "aten::gru" || op.name == "aten::rnn_tanh" || op.name == "aten::rnn_relu";
}

// Whether a module is this one or below it; all are below the model, "".
inline bool is_within(const std::string& path, const std::string& holder) {
  return holder.empty() || path == holder || (path.starts_with(holder) && path[holder.size()] == '.');
}

struct Program {
  std::string torch, device;
  int threads = 1;
  std::optional<Whole> batch;                // of the recording
  std::int64_t zeros_batch = 0;              // of two recordings in one: the batch size of that whose shares of zeros these are
  std::optional<Whole> start, peak;          // bytes of the recorder's allocator
  std::optional<std::int64_t> minor_faults;  // of the recorded step
  std::vector<std::string> modules;          // paths
  std::vector<std::string> classes;          // of each module; empty where it is not known
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  std::size_t ids = 0;  // every tensor id is below
};

// Every id of a tensor in it, in order; gradients are no such.
template <class Each>
void for_each_tensor(const Value& value, const Each& each) {
  if (const auto* tensor = std::get_if<TensorRef>(&value.is)) each(tensor->id);
  if (const auto* values = std::get_if<Values>(&value.is)) {
    for (const Value& one : *values) for_each_tensor(one, each);
  }
}
template <class Each>
void for_each_tensor(const Operator& op, const Each& each) {
  for (const Value& value : op.args) for_each_tensor(value, each);
  for (const auto& [name, value] : op.kwargs) for_each_tensor(value, each);
}

// An operator and what its passes have inside.
template <class Op, class Each>
void for_each_inside(Op& op, const Each& each) {
  each(op);
  for (auto& one : op.forward) for_each_inside(one, each);
  for (auto& one : op.backward) for_each_inside(one, each);
}

// Ids are checked to lie in the id space and to be made before they are used; an error names the place in the document.
Result<Program> decode(const nlohmann::json& document);

// The document that decodes to this program, for one that was changed.
nlohmann::json encode(const Program& program);

}  // namespace hotlens::lab
