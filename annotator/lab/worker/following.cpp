#include "annotator/lab/worker/following.h"

#include <algorithm>
#include <iterator>
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

// The module of an operator and those that hold it.
std::vector<std::size_t> with_holders(const Program& program, std::size_t module) {
  std::vector<std::size_t> found;
  if (module == kNoModule) return found;
  const std::string& path = program.modules[module];
  for (std::size_t at = 0; at < program.modules.size(); ++at) {
    if (is_within(path, program.modules[at])) found.push_back(at);
  }
  return found;
}

// What an operator of the library gives: Python may ask for its sizes before anything uses it.
std::vector<TensorId> made_by(const Operator& op) {
  std::vector<TensorId> ids;
  if (op.kind == OperatorKind::library) std::ranges::copy_if(op.out, std::back_inserter(ids), [](TensorId id) { return id != kNoTensor; });
  return ids;
}

// An index may be smaller than what it picks from: other sizes are no error of the operator's.
bool picks(const Operator& op) {
  return op.name.starts_with("aten::gather") || op.name.starts_with("aten::scatter") || op.name == "aten::take_along_dim";
}

// Sizes that were equal still are.
void refuse_other_sizes(const std::vector<std::pair<Sizes, Sizes>>& all) {
  for (const auto& [was, is] : all) {
    const auto& [was_first, is_first] = all.front();
    if (was.size() != was_first.size() || is.size() != was.size() || is_first.size() != was.size()) continue;
    for (std::size_t at = 0; at < was.size(); ++at) {
      if (was[at] == was_first[at] && is[at] != is_first[at])
        throw Unfollowed("its index has another size than what it picks from, which it had not when it was recorded");
    }
  }
}

void resize(Tensor& tensor, const Sizes& sizes, at::ScalarType dtype) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(dtype));
  tensor.dtype = name_of(dtype);
  tensor.shape.clear();
  tensor.stride.assign(sizes.size(), {});
  std::int64_t count = 1;
  for (std::size_t at = sizes.size(); at-- > 0; count *= sizes[at]) tensor.stride[at].offset = std::max<std::int64_t>(count, 1);
  for (const std::int64_t size : sizes) tensor.shape.push_back({.offset = size});
  tensor.storage_bytes = {.offset = count * width};
}

}  // namespace

Following::Following(const Program& recorded, Program& edited, const Followed& what) : recorded_(recorded), edited_(edited), what_(what) {
  for (const Operator& op : edited.operators) {
    if (op.kind == OperatorKind::input && op.module != kNoModule) for_each_tensor(op, [&](TensorId id) { given_.insert(id); });
  }
}

TensorId Following::was(TensorId id) const {
  if (what_.recorded.empty()) return id;
  return id >= 0 && static_cast<std::size_t>(id) < what_.recorded.size() ? what_.recorded[static_cast<std::size_t>(id)] : kNoTensor;
}

void Following::see(const Operator* op, const Bindings& bindings) {
  const auto note = [&](TensorId id) {
    const at::Tensor& tensor = bindings.tensors[static_cast<std::size_t>(id)];
    if (tensor.defined()) sizes_[id] = tensor.sizes().vec();
  };
  if (op != nullptr) {
    if (seen_last_ != nullptr) std::ranges::for_each(made_by(*seen_last_), note);
    seen_last_ = op;
    return for_each_tensor(*op, note);
  }
  seen_last_ = nullptr;
  for (std::size_t id = recorded_.tensors.size(); id < bindings.tensors.size(); ++id) {
    const at::Tensor& tensor = bindings.tensors[id];
    if (tensor.defined()) left_[static_cast<TensorId>(id)] = {tensor.sizes().vec(), tensor.scalar_type()};
  }
}

void Following::change(Operator* next, const Bindings& bindings) {
  if (next == nullptr) {
    last_ = nullptr;
    return resize_kept(bindings);
  }
  Operator& op = *next;
  // What this operator takes is told after it: it does not explain itself.
  if (last_ != nullptr) {
    auto others = made_by(*last_);
    for_each_tensor(op, [&](TensorId id) { std::erase(others, id); });
    note_sizes(last_->module, sizes_of(others, bindings));
  }
  last_ = next;
  refuse_given(op, bindings);
  const auto* first = op.args.empty() ? nullptr : std::get_if<TensorRef>(&op.args[0].is);
  const auto before = first == nullptr ? sizes_.end() : sizes_.find(was(first->id));
  const bool explained =
      before == sizes_.end() || is_explained(op.module, before->second, bindings.tensor(first->id).sizes().vec());  // by others than itself
  std::vector<TensorId> given;
  for_each_tensor(op, [&](TensorId id) { given.push_back(id); });
  const auto sizes = sizes_of(given, bindings);
  if (picks(op)) refuse_other_sizes(sizes);
  note_sizes(op.module, sizes);
  const bool made = first != nullptr && before == sizes_.end();  // by a layer that is new
  if (made && !cuts_or_pads(op)) return;
  Around around{.numbers = {}, .sizes = {}, .held = first != nullptr && is_held(op, first->id), .explained = explained};
  const std::size_t holder = std::min(op.module, edited_.modules.size());
  if (holder < what_.numbers.size()) around.numbers = what_.numbers[holder];
  if (op.module < what_.cuts.size()) around.cuts = what_.cuts[op.module];
  if (op.module < what_.attention.size()) around.attention = what_.attention[op.module];
  if (const auto seen = around_.find(op.module); seen != around_.end()) around.sizes.assign(seen->second.begin(), seen->second.end());
  if (const auto seen = leading_.find(op.module); seen != leading_.end()) around.leading.assign(seen->second.begin(), seen->second.end());
  const Sizes now = first == nullptr ? Sizes() : bindings.tensor(first->id).sizes().vec();
  const auto changed = follow(op, made || first == nullptr ? now : before->second, now, around);
  if (!changed) throw Unfollowed(changed.error());
  changed_ += *changed ? 1 : 0;
}

// Indices that Python makes of sizes in a module (`torch.tensor([i for i in range(x.size(1))])`) are as many as were recorded; where the
// dimension that they pick from is another one now, so are they.
void Following::refuse_given(const Operator& op, const Bindings& bindings) const {
  if (op.name != "aten::index" || op.args.size() < 2) return;
  const auto* of = std::get_if<TensorRef>(&op.args[0].is);
  const auto* indices = std::get_if<Values>(&op.args[1].is);
  const auto before = of == nullptr ? sizes_.end() : sizes_.find(was(of->id));
  if (before == sizes_.end() || indices == nullptr) return;
  const auto now = bindings.tensor(of->id).sizes();
  for (std::size_t dim = 0; dim < std::min({indices->size(), before->second.size(), now.size()}); ++dim) {
    const auto* index = std::get_if<TensorRef>(&(*indices)[dim].is);
    if (index != nullptr && given_.contains(index->id) && before->second[dim] != now[dim])
      throw Unfollowed("it picks by numbers that Python makes within the layer, from a dimension that has another size now");
  }
}

// A parameter or a buffer, or a part of one: so is what this operator takes of it.
bool Following::is_held(const Operator& op, TensorId first) {
  const bool listed = first >= 0 && static_cast<std::size_t>(first) < edited_.tensors.size();
  const TensorKind kind = listed ? edited_.tensors[static_cast<std::size_t>(first)].kind : TensorKind::other;
  const bool held = parts_.contains(first) || kind == TensorKind::parameter || kind == TensorKind::buffer;
  if (held && (op.name == "aten::slice" || op.name == "aten::select" || op.name == "aten::alias" || op.name == "aten::unsqueeze"))
    parts_.insert(op.out.begin(), op.out.end());
  return held;
}

bool Following::is_explained(std::size_t module, const Sizes& was, const Sizes& is) const {
  const auto seen = around_.find(module);
  bool all = was.size() == is.size();
  for (std::size_t at = 0; all && at < was.size(); ++at)
    all = was[at] == is[at] || (seen != around_.end() && seen->second.contains({was[at], is[at]}));
  return all;
}

std::vector<std::pair<Sizes, Sizes>> Following::sizes_of(const std::vector<TensorId>& ids, const Bindings& bindings) const {
  std::vector<std::pair<Sizes, Sizes>> all;
  for (const TensorId id : ids) {
    const auto before = sizes_.find(was(id));
    const at::Tensor& tensor = bindings.tensors[static_cast<std::size_t>(id)];
    if (before != sizes_.end() && tensor.defined()) all.emplace_back(before->second, tensor.sizes().vec());
  }
  return all;
}

// For the module and those that hold it.
void Following::note_sizes(std::size_t module, const std::vector<std::pair<Sizes, Sizes>>& all) {
  const auto [holders, is_new] = holders_.try_emplace(module);
  if (is_new) holders->second = with_holders(edited_, module);
  for (const std::size_t holder : holders->second) {
    for (const auto& [before, now] : all) {
      for (std::size_t at = 0; before.size() == now.size() && at < now.size(); ++at) around_[holder].emplace(before[at], now[at]);
      if (before.size() == now.size() && now.size() > 1) leading_[holder].emplace(before[0], now[0]);
    }
  }
}

// A variable like `out` holds the tensor of the step before until the new one is there: of what the step leaves behind, one of the same
// size.
void Following::resize_kept(const Bindings& bindings) {
  const std::set<TensorId> gone = released(edited_);
  for (std::size_t id = 0; id < edited_.tensors.size(); ++id) {
    Tensor& tensor = edited_.tensors[id];
    const bool kept = tensor.kind == TensorKind::other && gone.contains(static_cast<TensorId>(id));
    if (!kept || !tensor.storage_bytes.is_fixed()) continue;
    std::set<std::pair<Sizes, at::ScalarType>> now;
    for (std::size_t made = edited_.tensors.size(); made < bindings.tensors.size(); ++made) {
      const auto left = left_.find(was(static_cast<TensorId>(made)));
      const bool same = left != left_.end() && left->second == std::pair(fixed(tensor.shape), dtype_named(tensor.dtype));
      if (same && bindings.tensors[made].defined()) now.emplace(bindings.tensors[made].sizes().vec(), bindings.tensors[made].scalar_type());
    }
    if (now.size() > 1) throw Unfollowed("the size of a tensor that the script keeps from one step to the next cannot be known");
    if (now.empty() || *now.begin() == std::pair(fixed(tensor.shape), dtype_named(tensor.dtype))) continue;
    resize(tensor, now.begin()->first, now.begin()->second);
    ++changed_;
  }
}

}  // namespace hotlens::lab
