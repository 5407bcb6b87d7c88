// A recorded program while its structure is edited: tensors that come and go keep their ids until finish() numbers them anew.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

using Ids = std::map<TensorId, TensorId>;
// What stands for it; itself where nothing does.
TensorId now(const Ids& ids, TensorId id);

struct Draft {
  explicit Draft(Program recorded);

  Program program;
  std::map<TensorId, Tensor> added;  // that exist before the step, like Program::tensors
  std::set<TensorId> gone;           // of Program::tensors
  Ids recorded;                      // ids of copies: what they are copies of
  std::set<TensorId> made;           // by new operators: let go after their last use where the list does not say when
  Ids goes_with;                     // copies of what is let go later than right after the call: what they are let go with
  std::set<TensorId> left;           // copies of what the recorded step leaves behind, and nothing after the call uses: `made` that stay

  TensorId fresh() { return next_++; }
  // With memory of its own.
  TensorId add(Tensor tensor);
  // Null for what operators make, and for what is gone.
  const Tensor* listed(TensorId id) const;
  // Of that kind and name; kNoTensor: there is none.
  TensorId named(TensorKind kind, std::string_view name) const;

 private:
  TensorId next_;
  std::int64_t next_storage_ = 0;
};

// The parameter that a state or a gradient belongs to; any other name as it is: "exp_avg of layer.weight" gives "layer.weight".
std::string_view owner_of(std::string_view name);
// "layer.weight" as "layer" and "weight".
std::pair<std::string, std::string> split_name(const std::string& name);

// In arguments, gradients and results.
void rename(Operator& op, const Ids& ids);
bool uses(const Operator& op, TensorId id);

// In this shape, without gaps; the order of dimensions in memory stays where their number does.
void shape(Tensor& tensor, const std::vector<std::int64_t>& sizes);
std::int64_t elements(const Tensor& tensor);
// Bytes of one number; 0: of no floating type.
std::int64_t width_of(std::string_view dtype);

// What is let go before it was last used, and what new operators made, is let go after its last use; nothing twice.
void let_go_in_time(Draft& draft);

struct Finished {
  Program program;
  std::vector<TensorId> recorded;  // of every id: its id in the recorded program; kNoTensor where there was no such tensor
};
Finished finish(Draft draft);

}  // namespace hotlens::lab
