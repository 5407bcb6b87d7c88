#include "annotator/lab/worker/following.h"

#include <algorithm>
#include <set>

namespace hotlens::lab {
namespace {

Sizes fixed(const std::vector<Whole>& shape) {
  Sizes sizes;
  for (const Whole& size : shape) sizes.push_back(size.offset);
  return sizes;
}

std::set<TensorId> released(const Program& program) {
  std::set<TensorId> ids;
  for (const Operator& op : program.operators) {
    if (op.kind == OperatorKind::free) for_each_tensor(op, [&](TensorId id) { ids.insert(id); });
  }
  return ids;
}

void resize(Tensor& tensor, const Sizes& sizes) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(dtype_named(tensor.dtype)));
  tensor.shape.clear();
  tensor.stride.assign(sizes.size(), {});
  std::int64_t count = 1;
  for (std::size_t at = sizes.size(); at-- > 0; count *= sizes[at]) tensor.stride[at].offset = std::max<std::int64_t>(count, 1);
  for (const std::int64_t size : sizes) tensor.shape.push_back({.offset = size});
  tensor.storage_bytes = {.offset = count * width};
}

}  // namespace

TensorId Following::was(TensorId id) const {
  if (what_.recorded.empty()) return id;
  return id >= 0 && static_cast<std::size_t>(id) < what_.recorded.size() ? what_.recorded[static_cast<std::size_t>(id)] : kNoTensor;
}

void Following::see(const Operator* op, const Bindings& bindings) {
  const auto note = [&](TensorId id) {
    const at::Tensor& tensor = bindings.tensors[static_cast<std::size_t>(id)];
    if (tensor.defined()) sizes_[id] = tensor.sizes().vec();
  };
  if (op != nullptr) return for_each_tensor(*op, note);
  for (std::size_t id = recorded_.tensors.size(); id < bindings.tensors.size(); ++id) {
    const at::Tensor& tensor = bindings.tensors[id];
    if (tensor.defined()) left_[static_cast<TensorId>(id)] = {tensor.sizes().vec(), tensor.scalar_type()};
  }
}

void Following::change(Operator* next, const Bindings& bindings) {
  if (next == nullptr) return resize_kept(bindings);
  Operator& op = *next;
  const auto* first = op.args.empty() ? nullptr : std::get_if<TensorRef>(&op.args[0].is);
  const auto before = first == nullptr ? sizes_.end() : sizes_.find(was(first->id));
  if (before == sizes_.end()) return;
  const Numbers none;
  const Numbers& own = op.module < what_.numbers.size() ? what_.numbers[op.module] : none;
  const auto changed = follow(op, before->second, bindings.tensor(first->id).sizes().vec(), own);
  if (!changed) throw Unfollowed(changed.error());
  changed_ += *changed ? 1 : 0;
}

// A variable like `out` holds the tensor of the step before until the new one is there: of what the step leaves behind, one of the same
// size.
void Following::resize_kept(const Bindings& bindings) {
  const std::set<TensorId> gone = released(edited_);
  for (std::size_t id = 0; id < edited_.tensors.size(); ++id) {
    Tensor& tensor = edited_.tensors[id];
    const bool kept = tensor.kind == TensorKind::other && gone.contains(static_cast<TensorId>(id));
    if (!kept || tensor.shape.empty() || tensor.storage_bytes.numerator != 0) continue;
    std::set<Sizes> now;
    for (std::size_t made = edited_.tensors.size(); made < bindings.tensors.size(); ++made) {
      const auto left = left_.find(was(static_cast<TensorId>(made)));
      const bool same = left != left_.end() && left->second == std::pair(fixed(tensor.shape), dtype_named(tensor.dtype));
      if (same && bindings.tensors[made].defined()) now.insert(bindings.tensors[made].sizes().vec());
    }
    if (now.size() > 1) throw Unfollowed("the size of a tensor that the script keeps from one step to the next cannot be known");
    if (now.empty() || *now.begin() == fixed(tensor.shape)) continue;
    resize(tensor, *now.begin());
    ++changed_;
  }
}

}  // namespace hotlens::lab
