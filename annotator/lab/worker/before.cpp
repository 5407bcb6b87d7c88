#include "annotator/lab/worker/before.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace hotlens::lab {
namespace {

// Values only have to be ordinary: far from overflow, and from the denormal numbers that processors are slow with.
constexpr double kSmall = 1e-3;

// From the least to the most, in order: offsets and lengths stay sorted, an index stays inside.
void fill_integers(at::Tensor& all, std::int64_t least, std::int64_t most) {
  const std::int64_t count = all.numel();
  if (count < 2 || least == most || all.scalar_type() == at::kBool) {
    all.fill_(most);
    if (least != most && count > 1) all.slice(0, 0, count, 2).fill_(least);
    return;
  }
  all.copy_(at::arange(count, all.options().dtype(at::kLong)).mul_(most - least).div_(count - 1, "floor").add_(least));
}

// Of a tensor that is a part of its memory, a batch of all data: the part itself holds all of them.
void fill_integers_of(at::Tensor& all, const Tensor& tensor, const Bindings& bindings, std::int64_t least, std::int64_t most) {
  const std::int64_t count = c10::multiply_integers(bindings.wholes(tensor.shape));
  if (count < 2 || count >= all.numel()) return fill_integers(all, least, most);
  at::Tensor part = at::empty({count}, all.options());
  fill_integers(part, least, most);
  all.copy_(part.repeat({(all.numel() + count - 1) / count}).slice(0, 0, all.numel()).roll(bindings.whole(tensor.offset) % count));
}

// Within what each index of a dimension holds.
void stay_in_slices(at::Tensor& all, const Tensor& tensor, const Bindings& bindings) {
  const std::vector<std::int64_t> sizes = bindings.wholes(tensor.shape);
  if (tensor.slices.empty() || c10::multiply_integers(sizes) != all.numel()) return;
  at::Tensor table = all.view(sizes);
  for (const Slices& along : tensor.slices) {
    if (static_cast<std::int64_t>(along.most.size()) != sizes.at(along.dimension)) continue;
    std::vector<std::int64_t> beside(sizes.size(), 1);
    beside[along.dimension] = sizes[along.dimension];
    const auto as_table = [&](const std::vector<std::int64_t>& numbers) { return at::tensor(numbers).to(all.options()).view(beside); };
    table.copy_(at::maximum(at::minimum(table, as_table(along.most)), as_table(along.least)));
  }
}

void fill_reals(at::Tensor& all, const Tensor& tensor, const Bindings& bindings) {
  if (tensor.range) {
    all.uniform_(tensor.range->first, std::max(tensor.range->first, tensor.range->second));
    return;
  }
  switch (tensor.kind) {
    case TensorKind::parameter: {
      std::int64_t fan_in = 1;
      for (std::size_t at = 1; at < tensor.shape.size(); ++at) fan_in *= bindings.whole(tensor.shape[at]);
      const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(fan_in, 1)));
      all.uniform_(tensor.shape.size() < 2 ? 0 : -bound, bound);
      break;
    }
    case TensorKind::buffer:
      all.uniform_(0.5, 1);
      break;  // may be a variance
    case TensorKind::state:
    case TensorKind::gradient:
      all.uniform_(kSmall / 2, kSmall);
      break;
    case TensorKind::input:
    case TensorKind::other:
      all.uniform_(0, 1);
      break;
  }
}

void fill(at::Tensor& all, const Tensor& tensor, const Bindings& bindings) {
  const auto type = all.scalar_type();
  if (tensor.value) {
    if (const auto* number = std::get_if<double>(&tensor.value->is)) all.fill_(*number);
    if (const auto* whole = std::get_if<Whole>(&tensor.value->is)) all.fill_(bindings.whole(*whole));
    if (const auto* truth = std::get_if<bool>(&tensor.value->is)) all.fill_(*truth);
  } else if (at::isFloatingType(type)) {
    fill_reals(all, tensor, bindings);
  } else if (at::isComplexType(type)) {
    all.zero_();
  } else {
    const std::int64_t most = tensor.most ? bindings.whole(*tensor.most) : type == at::kBool ? 1 : 0;
    fill_integers_of(all, tensor, bindings, tensor.least ? bindings.whole(*tensor.least) : 0, most);
    if (type != at::kBool) stay_in_slices(all, tensor, bindings);
  }
}

}  // namespace

void Before::put_zeros(at::Tensor& all, const Tensor& tensor, std::int64_t batch) const {
  if (tensor.kind != TensorKind::state || tensor.zeros <= 0 || tensor.value || !at::isFloatingType(all.scalar_type())) return;
  const double times = zeros_batch_ > 0 && batch > 0 ? static_cast<double>(batch) / static_cast<double>(zeros_batch_) : 1;
  const double share = std::pow(tensor.zeros, times);
  all.slice(0, std::llround(static_cast<double>(all.numel()) * (1 - share))).zero_();
}

TensorId parameter_of(const Tensor& gradient, const std::vector<Tensor>& tensors) {
  if (gradient.kind != TensorKind::gradient) return kNoTensor;
  std::string_view name = gradient.name;
  if (const std::size_t of = name.rfind(" of "); of != std::string_view::npos) name.remove_prefix(of + 4);
  const auto found =
      std::ranges::find_if(tensors, [&](const Tensor& one) { return one.kind == TensorKind::parameter && one.name == name; });
  return found == tensors.end() ? kNoTensor : found - tensors.begin();
}

Before::Before(const Program& program, std::map<std::int64_t, Fate> fate)
    : tensors_(program.tensors), zeros_batch_(program.zeros_batch), fate_(std::move(fate)) {
  for (const Tensor& tensor : tensors_) {
    if (tensor.foreign || tensor.device != program.device) uncounted_.insert(tensor.storage);
  }
  for (const Operator& op : program.operators) {
    if (op.kind != OperatorKind::input) continue;
    for (const Value& value : op.args) {
      const TensorId id = std::get<TensorRef>(value.is).id;
      if (static_cast<std::size_t>(id) < tensors_.size()) uncounted_.insert(tensors_[static_cast<std::size_t>(id)].storage);
    }
  }
}

Before::Storage Before::make(const Tensor& tensor, const Bindings& bindings, bool save) const {
  const auto type = dtype_named(tensor.dtype);
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  const std::int64_t bytes = bindings.whole(tensor.storage_bytes);
  TORCH_CHECK(bytes >= 0 && bytes % width == 0, "a storage of ", bytes, " bytes holds no ", tensor.dtype);
  Storage made{.all = at::empty({bytes / width}, at::device(c10::Device(tensor.device)).dtype(type)), .saved = {}};
  fill(made.all, tensor, bindings);
  if (save) made.saved = made.all.clone();
  put_zeros(made.all, tensor, bindings.batch);
  return made;
}

at::Tensor Before::storage(const Tensor& tensor, const Bindings& bindings) {
  const auto known = fate_.find(tensor.storage);
  const Fate fate = known == fate_.end() ? Fate::kept : known->second;
  if (fate == Fate::released) return make(tensor, bindings, false).all;
  // An index may follow the size though there are as many of it: the largest then is another one.
  const bool same = tensor.storage_bytes.is_fixed() && (!tensor.most || tensor.most->is_fixed());
  Storage& place = same ? same_[tensor.storage] : made_[{tensor.storage, bindings.batch}];
  if (!place.all.defined()) {
    place = make(tensor, bindings, fate == Fate::changed);
  } else if (place.saved.defined()) {
    place.all.copy_(place.saved);
    put_zeros(place.all, tensor, bindings.batch);
  }
  return place.all;
}

void Before::bind(Bindings& bindings) {
  bind(bindings, [&](const Tensor& tensor) { return storage(tensor, bindings); });
}

void Before::bind_sizes(Bindings& bindings) const {
  std::map<std::pair<TensorKind, std::string>, at::Tensor> shared;  // by kind and dtype
  const auto is_real = [](const Tensor& tensor) { return !tensor.value && at::isFloatingType(dtype_named(tensor.dtype)); };
  std::map<std::pair<TensorKind, std::string>, const Tensor*> largest;
  for (const Tensor& tensor : tensors_) {
    if (!is_real(tensor)) continue;
    const Tensor*& most = largest[{tensor.kind, tensor.dtype}];
    if (most == nullptr || bindings.whole(most->storage_bytes) < bindings.whole(tensor.storage_bytes)) most = &tensor;
  }
  bind(bindings, [&](const Tensor& tensor) {
    if (!is_real(tensor)) return make(tensor, bindings, false).all;
    at::Tensor& all = shared[{tensor.kind, tensor.dtype}];
    if (!all.defined()) all = make(*largest.at({tensor.kind, tensor.dtype}), bindings, false).all;
    return all;
  });
}

void Before::bind(Bindings& bindings, const StorageOf& storage_of) const {
  std::map<std::int64_t, at::Tensor> storages;
  for (std::size_t id = 0; id < tensors_.size(); ++id) {
    const Tensor& tensor = tensors_[id];
    at::Tensor& all = storages[tensor.storage];
    if (!all.defined()) all = storage_of(tensor);
    at::Tensor view = at::empty({0}, at::device(all.device()).dtype(dtype_named(tensor.dtype)));
    const std::size_t bytes = all.storage().nbytes();
    view.set_(all.storage(), bindings.whole(tensor.offset), bindings.wholes(tensor.shape), bindings.wholes(tensor.stride));
    TORCH_CHECK(all.storage().nbytes() == bytes, "a tensor from before the step is larger than the memory that it is a part of");
    if (tensor.requires_grad) view.set_requires_grad(true);
    bindings.tensors[id] = std::move(view);
  }
  attach_gradients(bindings);
}

// Only the parameter holds its gradient, as in the script.
void Before::attach_gradients(Bindings& bindings) const {
  for (std::size_t id = 0; id < tensors_.size(); ++id) {
    const TensorId parameter = parameter_of(tensors_[id], tensors_);
    if (parameter == kNoTensor) continue;
    bindings.tensors[static_cast<std::size_t>(parameter)].mutable_grad() = std::move(bindings.tensors[id]);
    bindings.tensors[id].reset();
    bindings.gradient_of[static_cast<TensorId>(id)] = parameter;
  }
}

std::int64_t Before::bytes(const Bindings& bindings) const {
  std::int64_t sum = 0;
  std::set<std::int64_t> counted;
  for (const Tensor& tensor : tensors_) {
    if (!uncounted_.contains(tensor.storage) && counted.insert(tensor.storage).second) sum += bindings.whole(tensor.storage_bytes);
  }
  return sum;
}

std::int64_t Before::bytes_of_input(const Operator& input, const Bindings& bindings) const {
  std::int64_t sum = 0;
  for (const Value& value : input.args) {
    const auto id = static_cast<std::size_t>(std::get<TensorRef>(value.is).id);
    if (id < tensors_.size() && !tensors_[id].foreign) sum += bindings.whole(tensors_[id].storage_bytes);
  }
  return sum;
}

}  // namespace hotlens::lab
