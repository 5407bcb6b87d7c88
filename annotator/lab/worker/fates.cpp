#include "annotator/lab/worker/fates.h"

#include <utility>

namespace hotlens::lab {
namespace {

class Fates {
 public:
  Fates(const Program& program, const Handles& handles) : program_(program), base_(program.ids) {
    for (std::size_t id = 0; id < base_.size(); ++id) base_[id] = static_cast<TensorId>(id);
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind == TensorKind::buffer || tensor.kind == TensorKind::state)
        fates_[tensor.storage] = Fate::changed;  // batch_norm is silent
    }
    follow(program.operators, handles);
    for (const Operator& op : program.operators) {
      if (op.kind == OperatorKind::free) release(op);
    }
    for (const Tensor& tensor : program.tensors) {
      if (parameter_of(tensor, program.tensors) != kNoTensor) fates_[tensor.storage] = Fate::released;
    }
    for (const Tensor& tensor : program.tensors) {
      if (tensor.foreign) fates_[tensor.storage] = Fate::kept;  // no allocator counts when it goes
    }
  }

  std::map<std::int64_t, Fate> take() && { return std::move(fates_); }

 private:
  void mark(TensorId id, Fate fate) {
    const auto base = static_cast<std::size_t>(base_[static_cast<std::size_t>(id)]);
    if (base < program_.tensors.size()) fates_[program_.tensors[base].storage] = fate;
  }

  void follow(const std::vector<Operator>& operators, const Handles& handles) {
    for (std::size_t at = 0; at < handles.size(); ++at) {
      if (handles[at].own) follow(operators[at], handles[at].own->schema());
      follow(operators[at].forward, handles[at].forward);
      follow(operators[at].backward, handles[at].backward);
    }
  }

  void follow(const Operator& op, const c10::FunctionSchema& schema) {
    const auto& wanted = schema.arguments();
    TensorId viewed = kNoTensor;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      const c10::AliasInfo* alias = wanted[at].alias_info();
      const Value* value = at < op.args.size() ? &op.args[at] : nullptr;
      for (const auto& [name, given] : op.kwargs) {
        if (name == wanted[at].name()) value = &given;
      }
      if (alias == nullptr || value == nullptr) continue;
      for_each_tensor(*value, [&](TensorId id) {
        if (alias->isWrite()) mark(id, Fate::changed);
        if (viewed == kNoTensor) viewed = base_[static_cast<std::size_t>(id)];
      });
    }
    for (const TensorId id : op.out) {
      // An operator that writes gives back what it was given, in lists each its own.
      const bool is_view = id >= static_cast<TensorId>(program_.tensors.size()) && viewed != kNoTensor;
      if (is_view) base_[static_cast<std::size_t>(id)] = viewed;
    }
  }

  void release(const Operator& op) {
    for (const Value& value : op.args) {
      for_each_tensor(value, [&](TensorId id) {
        if (static_cast<std::size_t>(id) < program_.tensors.size())
          fates_[program_.tensors[static_cast<std::size_t>(id)].storage] = Fate::released;
      });
    }
  }

  const Program& program_;
  std::vector<TensorId> base_;  // by id: the tensor whose storage it views
  std::map<std::int64_t, Fate> fates_;
};

}  // namespace

std::map<std::int64_t, Fate> fates_of(const Program& program, const Handles& handles) {
  return Fates(program, handles).take();
}

}  // namespace hotlens::lab
