#include "annotator/lab/structure/family.h"

#include <algorithm>

namespace hotlens::lab {
namespace {

bool is_list(const Value& value) {
  return std::holds_alternative<Values>(value.is);
}

template <class Each>
void for_each_argument(const Operator& op, const Each& each) {
  for (const Value& value : op.args) each(value);
  for (const auto& [name, value] : op.kwargs) each(value);
}

// A tensor that belongs to some other parameter.
bool is_anothers(const Draft& draft, const Family& family, const Value& value) {
  if (const auto* gradient = std::get_if<GradientRef>(&value.is)) return gradient->of != family.parameter;
  const auto* tensor = std::get_if<TensorRef>(&value.is);
  const Tensor* listed = tensor == nullptr ? nullptr : draft.listed(tensor->id);
  const bool owned = listed != nullptr && (listed->kind == TensorKind::parameter || listed->kind == TensorKind::state);
  return owned && !family.ids.contains(tensor->id);
}

}  // namespace

std::multimap<std::string, TensorId> owned_by(const Draft& draft, TensorId parameter) {
  const std::string& name = draft.listed(parameter)->name;
  std::multimap<std::string, TensorId> found;
  const auto see = [&](TensorId id, const Tensor& tensor) {
    const bool held = tensor.kind == TensorKind::state || tensor.kind == TensorKind::gradient;
    if (held && draft.listed(id) != nullptr && owner_of(tensor.name) == name)
      found.emplace(tensor.name.substr(0, tensor.name.size() - name.size()), id);
  };
  for (std::size_t id = 0; id < draft.program.tensors.size(); ++id) see(static_cast<TensorId>(id), draft.program.tensors[id]);
  for (const auto& [id, tensor] : draft.added) see(id, tensor);
  return found;
}

namespace {

class Search {
 public:
  Search(const Draft& draft, TensorId parameter) : draft_(draft), family_{.parameter = parameter, .ids = {parameter}, .runs = {}} {
    for (const auto& [what, id] : owned_by(draft, parameter)) family_.ids.insert(id);
  }

  std::expected<Family, std::string> run() {
    const auto& operators = draft_.program.operators;
    for (std::size_t at = 0; at < operators.size(); ++at) {
      const Operator& op = operators[at];
      if (op.kind == OperatorKind::free) continue;
      const bool alone = op.module == kNoModule && computes(op) && follow(op);
      if (!why_.empty()) return std::unexpected(why_);
      if (alone && !open_) family_.runs.push_back({.begin = at, .left = {}, .found = {}});
      if (alone) family_.runs.back().end = at + 1;
      open_ = alone;
    }
    for (Run& run : family_.runs) balance(run);
    return std::move(family_);
  }

 private:
  // Whether the operator is the family's alone; what it makes of it joins.
  bool follow(const Operator& op) {
    bool alone = false, anothers = false;
    for_each_argument(op, [&](const Value& value) {
      alone = alone || (!is_list(value) && belongs(family_, value));
      anothers = anothers || (!is_list(value) && is_anothers(draft_, family_, value));
      const auto* list = std::get_if<Values>(&value.is);
      for (std::size_t at = 0; list != nullptr && at < list->size() && list->size() == op.out.size(); ++at) {
        if (belongs(family_, (*list)[at]) && op.out[at] != kNoTensor) family_.ids.insert(op.out[at]);
      }
    });
    if (alone && (op.stage == Stage::forward || op.stage == Stage::loss)) why_ = op.name + " uses a parameter outside of its layer";
    if (alone && anothers) why_ = op.name + " works on several parameters at once";
    if (!alone) return false;
    for (const TensorId id : op.out) {
      const bool foreign = id != kNoTensor && draft_.listed(id) != nullptr && !family_.ids.contains(id);
      if (foreign) why_ = op.name + " writes to something else than the parameter and its states";
      if (id != kNoTensor) family_.ids.insert(id);
    }
    return true;
  }

  void balance(Run& run) const {
    std::set<TensorId> before, made, freed;
    for (std::size_t at = 0; at < run.end; ++at) {
      const Operator& op = draft_.program.operators[at];
      for (const TensorId id : op.out) {
        if (at < run.begin) before.insert(id);
        if (at >= run.begin && id != kNoTensor && draft_.listed(id) == nullptr && !before.contains(id)) made.insert(id);
      }
      if (at < run.begin || op.kind != OperatorKind::free) continue;
      for_each_tensor(op, [&](TensorId id) {
        freed.insert(id);
        if (!made.contains(id)) run.found.push_back(id);
      });
    }
    std::ranges::copy_if(made, std::back_inserter(run.left), [&](TensorId id) { return !freed.contains(id); });
  }

  const Draft& draft_;
  Family family_;
  std::string why_;
  bool open_ = false;
};

}  // namespace

bool Family::steady() const {
  return std::ranges::all_of(runs, [](const Run& run) { return run.left.size() == run.found.size(); });
}

bool belongs(const Family& family, const Value& value) {
  if (const auto* tensor = std::get_if<TensorRef>(&value.is)) return family.ids.contains(tensor->id);
  const auto* gradient = std::get_if<GradientRef>(&value.is);
  return gradient != nullptr && gradient->of == family.parameter;
}

std::expected<Family, std::string> family_of(const Draft& draft, TensorId parameter) {
  return Search(draft, parameter).run();
}

}  // namespace hotlens::lab
