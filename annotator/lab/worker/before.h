// The tensors that exist before a step: made of the program's word about them, with values that any operator takes, and put back
// to what they were after a step has changed them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/arguments.h"

namespace hotlens::lab {

// What becomes of a storage in a step.
enum class Fate : std::uint8_t {
  kept,      // made once
  changed,   // made once, put back before each step
  released,  // the step lets it go: made anew for each step
};

class Before {
 public:
  // `fate` by storage number.
  Before(const Program& program, std::map<std::int64_t, Fate> fate);

  // All of them, as the first of `bindings.tensors`. Parameters have the gradients that they had. Throws c10::Error.
  void bind(Bindings& bindings);
  // The same for who asks for sizes alone: real numbers of one kind share memory, which is let go with the last of them.
  void bind_sizes(Bindings& bindings) const;

  // Lets go what was made for batch sizes; what is the same for all stays.
  void forget_batches() { made_.clear(); }

  // Of all storages that the allocators count and that are there when the step begins.
  std::int64_t bytes(const Bindings& bindings) const;

  // Of the storages of tensors that come during the step, each at its first tensor.
  std::int64_t bytes_of_input(const Operator& input, const Bindings& bindings) const;

 private:
  struct Storage {
    at::Tensor all, saved;  // flat, in the dtype of the first tensor that lies in it
  };

  using StorageOf = std::function<at::Tensor(const Tensor& tensor)>;
  void bind(Bindings& bindings, const StorageOf& storage_of) const;
  at::Tensor storage(const Tensor& tensor, const Bindings& bindings);
  Storage make(const Tensor& tensor, const Bindings& bindings, bool save) const;
  void attach_gradients(Bindings& bindings) const;
  // What no batch has named yet is zero in a state (rows of a table): with N times the samples the share is that to the power of N.
  void put_zeros(at::Tensor& all, const Tensor& tensor, std::int64_t batch) const;

  const std::vector<Tensor>& tensors_;
  std::int64_t zeros_batch_ = 0;  // see Program
  std::map<std::int64_t, Fate> fate_;
  std::set<std::int64_t> uncounted_;                               // storages that come during the step, or that are foreign
  std::map<std::pair<std::int64_t, std::int64_t>, Storage> made_;  // by storage and batch size
  std::map<std::int64_t, Storage> same_;                           // by storage: of a size that does not follow the batch
};

// The parameter whose gradient this is; kNoTensor where it is none, or of nobody.
TensorId parameter_of(const Tensor& gradient, const std::vector<Tensor>& tensors);

}  // namespace hotlens::lab
