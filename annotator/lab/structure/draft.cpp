#include "annotator/lab/structure/draft.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "annotator/lab/structure/releases.h"

namespace hotlens::lab {
namespace {

template <class Each>
void change_ids(Value& value, const Each& each) {
  if (auto* tensor = std::get_if<TensorRef>(&value.is)) tensor->id = each(tensor->id);
  if (auto* gradient = std::get_if<GradientRef>(&value.is)) gradient->of = each(gradient->of);
  if (auto* values = std::get_if<Values>(&value.is)) {
    for (Value& one : *values) change_ids(one, each);
  }
}

template <class Each>
void change_ids(Operator& op, const Each& each) {
  for (Value& value : op.args) change_ids(value, each);
  for (auto& [name, value] : op.kwargs) change_ids(value, each);
  for (TensorId& id : op.out) {
    if (id != kNoTensor) id = each(id);
  }
  for (TensorId& id : op.last_named) id = each(id);
  for (Operator& one : op.forward) change_ids(one, each);
  for (Operator& one : op.backward) change_ids(one, each);
}

}  // namespace

Draft::Draft(Program from) : program(std::move(from)), next_(static_cast<TensorId>(program.ids)) {
  for (const Tensor& tensor : program.tensors) next_storage_ = std::max(next_storage_, tensor.storage + 1);
}

TensorId Draft::add(Tensor tensor) {
  tensor.storage = next_storage_++;
  tensor.offset = {};
  return added.emplace(fresh(), std::move(tensor)).first->first;
}

const Tensor* Draft::listed(TensorId id) const {
  if (id >= 0 && static_cast<std::size_t>(id) < program.tensors.size())
    return gone.contains(id) ? nullptr : &program.tensors[static_cast<std::size_t>(id)];
  const auto found = added.find(id);
  return found == added.end() ? nullptr : &found->second;
}

TensorId Draft::named(TensorKind kind, std::string_view name) const {
  for (const auto& [id, tensor] : added) {
    if (tensor.kind == kind && tensor.name == name) return id;
  }
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind == kind && tensor.name == name && !gone.contains(static_cast<TensorId>(id))) return static_cast<TensorId>(id);
  }
  return kNoTensor;
}

TensorId now(const Ids& ids, TensorId id) {
  const auto found = ids.find(id);
  return found == ids.end() ? id : found->second;
}

std::string_view owner_of(std::string_view name) {
  const std::size_t of = name.rfind(" of ");
  return name.substr(of == std::string_view::npos ? 0 : of + 4);
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::pair{std::string(), name} : std::pair{name.substr(0, dot), name.substr(dot + 1)};
}

void rename(Operator& op, const Ids& ids) {
  change_ids(op, [&](TensorId id) { return now(ids, id); });
}

bool uses(const Operator& op, TensorId id) {
  bool found = false;
  for_each_tensor(op, [&](TensorId one) { found = found || one == id; });
  return found;
}

void shape(Tensor& tensor, const std::vector<std::int64_t>& sizes) {
  const std::int64_t before = elements(tensor), width = before > 0 ? tensor.storage_bytes.offset / before : 0;
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (tensor.stride.size() == sizes.size())
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t at) { return tensor.stride[at].offset; });
  tensor.shape.clear();
  tensor.stride.assign(sizes.size(), {});
  for (const std::int64_t size : sizes) tensor.shape.push_back({.offset = size});
  std::int64_t step = 1;
  for (std::size_t at = order.size(); at-- > 0; step *= std::max<std::int64_t>(sizes[order[at]], 1)) tensor.stride[order[at]].offset = step;
  tensor.storage_bytes = {.offset = width * elements(tensor)};
}

std::int64_t elements(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const Whole& size : tensor.shape) count *= size.offset;
  return count;
}

std::int64_t width_of(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kWidths{
      {{"bfloat16", 2}, {"float16", 2}, {"float32", 4}, {"float64", 8}}};
  const auto found = std::ranges::find(kWidths, dtype, &std::pair<std::string_view, std::int64_t>::first);
  return found == kWidths.end() ? 0 : found->second;
}

namespace {

// What a call's results hold goes when they do.
void let_go_together(Draft& draft) {
  std::map<TensorId, std::vector<TensorId>> with;
  for (const auto& [copy, id] : draft.goes_with) with[id].push_back(copy);
  for (Operator& op : draft.program.operators) {
    if (op.kind != OperatorKind::free) continue;
    std::vector<TensorId> more;
    for_each_tensor(op, [&](TensorId id) {
      if (const auto found = with.find(id); found != with.end()) more.insert(more.end(), found->second.begin(), found->second.end());
    });
    for (const TensorId id : more) op.args.emplace_back().is = TensorRef{id};
  }
}

}  // namespace

void let_go_in_time(Draft& draft) {
  let_go_together(draft);
  std::vector<Operator>& operators = draft.program.operators;
  std::map<TensorId, std::size_t> last, goes;
  for (std::size_t at = 0; at < operators.size(); ++at) {
    const bool frees = operators[at].kind == OperatorKind::free;
    const auto see = [&](TensorId id) { (frees ? goes : last)[id] = at; };
    for_each_tensor(operators[at], see);
    std::ranges::for_each(operators[at].out, see);
  }
  std::map<std::size_t, std::vector<TensorId>> after;
  for (const auto& [id, at] : last) {
    const bool made = id >= static_cast<TensorId>(draft.program.tensors.size()) && !draft.added.contains(id);
    const auto going = goes.find(id);
    const bool early = going != goes.end() && going->second < at;
    if (!made || (!early && (going != goes.end() || !draft.made.contains(id) || draft.left.contains(id)))) continue;
    after[at].push_back(id);
    if (early) goes.erase(going);
  }
  std::vector<Operator> kept;
  for (std::size_t at = 0; at < operators.size(); ++at) {
    Operator& op = operators[at];
    const bool frees = op.kind == OperatorKind::free;
    if (frees) {
      std::erase_if(op.args, [&](const Value& value) {
        const TensorId id = std::get<TensorRef>(value.is).id;
        const auto going = goes.find(id);
        return going == goes.end() || going->second != at || (draft.listed(id) == nullptr && !last.contains(id));
      });
    }
    if (!frees || !op.args.empty()) kept.push_back(std::move(op));
    if (after.contains(at)) kept.push_back(release(after.at(at)));
  }
  operators = std::move(kept);
}

Finished finish(Draft draft) {
  Finished done{.program = std::move(draft.program), .recorded = {}};
  Ids numbers;
  std::vector<Tensor> tensors;
  const auto take = [&](TensorId was, Tensor tensor, TensorId recorded) {
    numbers[was] = static_cast<TensorId>(tensors.size());
    tensors.push_back(std::move(tensor));
    done.recorded.push_back(recorded);
  };
  const auto origin = [&](TensorId id) {
    const auto copy = draft.recorded.find(id);
    if (copy != draft.recorded.end()) return copy->second;
    return id < static_cast<TensorId>(done.program.ids) ? id : kNoTensor;
  };
  for (std::size_t id = 0; id < done.program.tensors.size(); ++id) {
    const auto was = static_cast<TensorId>(id);
    if (!draft.gone.contains(was)) take(was, std::move(done.program.tensors[id]), was);
  }
  for (auto& [id, tensor] : draft.added) take(id, std::move(tensor), origin(id));
  const auto number = [&](TensorId id) {
    const auto [place, is_new] = numbers.try_emplace(id, static_cast<TensorId>(done.recorded.size()));
    if (is_new) done.recorded.push_back(origin(id));
    return place->second;
  };
  for (Operator& op : done.program.operators) change_ids(op, number);
  done.program.tensors = std::move(tensors);
  done.program.ids = done.recorded.size();
  return done;
}

}  // namespace hotlens::lab
