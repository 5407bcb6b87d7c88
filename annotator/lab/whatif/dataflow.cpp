#include "annotator/lab/whatif/dataflow.h"

#include <algorithm>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

bool hands_on_gradients(const Operator& op) {
  return computes(op) && op.grad && op.name != "aten::detach" && !op.out.empty();
}

}  // namespace

Dataflow::Dataflow(const Program& program)
    : program_(program), makers_(program.ids), readers_(program.ids), differentiated_(program.ids, false) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) differentiated_[id] = program.tensors[id].requires_grad;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const Operator& op = program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    bool differentiated = false;
    for_each_tensor(op, [&](TensorId id) {
      if (id == kNoTensor) return;
      std::vector<std::size_t>& readers = readers_[static_cast<std::size_t>(id)];
      if (readers.empty() || readers.back() != at) readers.push_back(at);
      differentiated = differentiated || differentiated_[static_cast<std::size_t>(id)];
    });
    for (const TensorId id : op.out) {
      if (id == kNoTensor) continue;
      makers_[static_cast<std::size_t>(id)].push_back(at);
      if (differentiated && hands_on_gradients(op)) differentiated_[static_cast<std::size_t>(id)] = true;
    }
  }
}

std::size_t Dataflow::maker(TensorId id, std::size_t before) const {
  const std::vector<std::size_t>& makers = makers_[static_cast<std::size_t>(id)];
  const auto next = std::ranges::lower_bound(makers, before);
  return next == makers.begin() ? kNowhere : *(next - 1);
}

std::vector<std::size_t> Dataflow::readers(TensorId id, std::size_t maker) const {
  const std::vector<std::size_t>& makers = makers_[static_cast<std::size_t>(id)];
  const auto again = maker == kNowhere ? makers.begin() : std::ranges::upper_bound(makers, maker);
  std::vector<std::size_t> found;
  for (const std::size_t at : readers_[static_cast<std::size_t>(id)]) {
    const bool after = maker == kNowhere || at > maker;
    if (after && (again == makers.end() || at <= *again)) found.push_back(at);
  }
  return found;
}

const std::vector<Whole>* Dataflow::shape(TensorId id, std::size_t before) const {
  if (id == kNoTensor) return nullptr;
  const std::size_t made = maker(id, before);
  if (made == kNowhere) {
    return static_cast<std::size_t>(id) < program_.tensors.size() ? &program_.tensors[static_cast<std::size_t>(id)].shape : nullptr;
  }
  const Operator& op = program_.operators[made];
  const auto place = static_cast<std::size_t>(std::ranges::find(op.out, id) - op.out.begin());
  return place < op.shapes.size() ? &op.shapes[place] : nullptr;
}

std::optional<double> Dataflow::constant(const Value* value, std::size_t before) const {
  const TensorId id = tensor_of(value);
  if (id == kNoTensor) return number(value);
  const std::size_t made = maker(id, before);
  if (made == kNowhere) {
    if (static_cast<std::size_t>(id) >= program_.tensors.size()) return std::nullopt;
    const Tensor& tensor = program_.tensors[static_cast<std::size_t>(id)];
    return tensor.requires_grad || !tensor.value ? std::nullopt : number(&*tensor.value);
  }
  const Operator& op = program_.operators[made];
  if (op.name == "aten::full") {
    const Value* size = argument(op, 0, "size");
    const auto* list = size == nullptr ? nullptr : std::get_if<Values>(&size->is);
    return list != nullptr && list->empty() ? number(argument(op, 1, "fill_value")) : std::nullopt;
  }
  return op.name == "aten::scalar_tensor" ? number(argument(op, 0, "s")) : std::nullopt;
}

std::string_view base_name(const Operator& op) {
  std::string_view name = op.name;
  if (!name.starts_with("aten::")) return name;
  name.remove_prefix(std::string_view("aten::").size());
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

void hold(Program& program, const std::vector<TensorId>& ids, std::size_t from, std::size_t until, std::vector<Operator>& to) {
  Operator after{.kind = OperatorKind::free, .name = "hotlens::free", .overload = {}, .args = {}, .kwargs = {}, .out = {}};
  for (std::size_t at = from; at < until; ++at) {
    Operator& op = program.operators[at];
    if (op.kind != OperatorKind::free) continue;
    std::erase_if(op.args, [&](const Value& value) {
      const bool held = std::ranges::find(ids, tensor_of(&value)) != ids.end();
      if (held) after.args.push_back(value);
      return held;
    });
  }
  if (!after.args.empty()) to.push_back(std::move(after));
}

}  // namespace hotlens::lab
