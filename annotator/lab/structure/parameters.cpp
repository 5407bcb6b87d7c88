#include "annotator/lab/structure/parameters.h"

#include <algorithm>

#include "annotator/lab/structure/family.h"

namespace hotlens::lab {
namespace {

// Where the family's element stands in a list; nullopt: nowhere.
std::optional<std::size_t> place_in(const Values& list, const Family& family) {
  const auto found = std::ranges::find_if(list, [&](const Value& value) { return belongs(family, value); });
  return found == list.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - list.begin()));
}

// Lists of an operator, and the arguments of one of ours that takes parameters.
template <class Each>
void for_each_list(Operator& op, const Each& each) {
  if (op.kind == OperatorKind::clear_gradient) return each(op.args);
  if (op.kind != OperatorKind::library || op.module != kNoModule) return;
  for (Value& value : op.args) {
    if (auto* list = std::get_if<Values>(&value.is)) each(*list);
  }
  for (auto& [name, value] : op.kwargs) {
    if (auto* list = std::get_if<Values>(&value.is)) each(*list);
  }
}

struct Place {
  std::size_t element = 0, after = 0, size = 0;
};

// Of the example's element in the operator's lists, and of the one that the new element follows.
std::optional<Place> place(Operator& op, const Family& like, const Family& after) {
  std::optional<Place> found;
  for_each_list(op, [&](const Values& list) {
    const auto element = place_in(list, like), before = place_in(list, after);
    if (element && !found) found = Place{.element = *element, .after = before.value_or(*element), .size = list.size()};
  });
  return found;
}

class Addition {
 public:
  Addition(Draft& draft, TensorId added, Family like, Family after)
      : draft_(draft), like_(std::move(like)), after_(std::move(after)), ids_{{like_.parameter, added}} {}

  Reason run() {
    if (auto why = add_states()) return why;
    for (const TensorId id : like_.ids) {
      if (draft_.listed(id) != nullptr || ids_.contains(id)) continue;
      ids_[id] = draft_.fresh();
      draft_.recorded[ids_[id]] = id;
    }
    const bool same = after_.runs.size() == like_.runs.size();
    std::vector<std::pair<std::size_t, std::vector<Operator>>> more;  // operators, by the place that they come before
    for (std::size_t at = 0; at < like_.runs.size(); ++at) more.emplace_back(same ? after_.runs[at].end : like_.runs[at].end, run_of(at));
    for (Operator& op : draft_.program.operators) extend(op);
    for (std::size_t at = like_.runs.size(); at-- > 0;) {
      if (same && like_.steady()) hand_on(at, more[at].first);
      const auto begin = draft_.program.operators.begin() + static_cast<std::ptrdiff_t>(more[at].first);
      draft_.program.operators.insert(begin, more[at].second.begin(), more[at].second.end());
    }
    return std::nullopt;
  }

 private:
  Reason add_states() {
    const Tensor& parameter = *draft_.listed(ids_.at(like_.parameter));
    std::vector<std::int64_t> sizes, was;
    for (const Whole& size : parameter.shape) sizes.push_back(size.offset);
    for (const Whole& size : draft_.listed(like_.parameter)->shape) was.push_back(size.offset);
    const std::string name = parameter.name, old = draft_.listed(like_.parameter)->name;
    for (const TensorId id : like_.ids) {
      const Tensor* listed = draft_.listed(id);
      if (listed == nullptr || id == like_.parameter) continue;
      Tensor made = *listed;
      made.name = made.name.substr(0, made.name.size() - old.size()) + name;
      std::vector<std::int64_t> own;
      for (const Whole& size : made.shape) own.push_back(size.offset);
      if (own == was) {
        shape(made, sizes);
        if (elements(made) != 1) made.value.reset();
      } else if (!own.empty() && sizes != was) {
        return "what the optimizer holds of `" + name + "` cannot be known";
      }
      ids_[id] = draft_.add(std::move(made));
    }
    return std::nullopt;
  }

  // The example's run for the new parameter: what it finds is what the one before it has left.
  std::vector<Operator> run_of(std::size_t at) {
    const Run& run = like_.runs[at];
    Ids ids = ids_;
    for (std::size_t one = 0; like_.steady() && at < after_.runs.size() && one < run.found.size(); ++one) {
      if (one < after_.runs[at].left.size()) ids[run.found[one]] = after_.runs[at].left[one];
    }
    std::vector<Operator> all;
    for (std::size_t place = run.begin; place < run.end; ++place) rename(all.emplace_back(draft_.program.operators[place]), ids);
    return all;
  }

  // What the one before has left goes in the new run; what the new one leaves goes where that went.
  void hand_on(std::size_t at, std::size_t from) {
    const Run &run = like_.runs[at], &before = after_.runs[at];
    Ids ids;
    for (std::size_t one = 0; one < run.left.size() && one < before.left.size(); ++one) ids[before.left[one]] = ids_.at(run.left[one]);
    for (std::size_t place = from; place < draft_.program.operators.size(); ++place) {
      if (draft_.program.operators[place].kind == OperatorKind::free) rename(draft_.program.operators[place], ids);
    }
  }

  void extend(Operator& op) {
    if (op.kind == OperatorKind::free) return extend_release(op);
    const auto where = place(op, like_, after_);
    if (!where) return;
    for_each_list(op, [&](Values& list) {
      if (list.size() != where->size) return;
      Operator element{.name = {}, .overload = {}, .args = {list[where->element]}, .kwargs = {}, .out = {}};
      rename(element, ids_);
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(where->after) + 1, element.args[0]);
    });
    if (op.out.size() != where->size || op.kind != OperatorKind::library || op.out.size() < 2) return;
    const TensorId out = op.out[where->element];
    op.out.insert(op.out.begin() + static_cast<std::ptrdiff_t>(where->after) + 1, ids_.contains(out) ? ids_.at(out) : out);
  }

  void extend_release(Operator& op) {
    const Values given = op.args;
    for (const Value& value : given) {
      const TensorId id = std::get<TensorRef>(value.is).id;
      const bool passed = like_.steady() && std::ranges::any_of(like_.runs, [&](const Run& run) {
                            return std::ranges::find(run.left, id) != run.left.end();
                          });
      const bool own = std::ranges::any_of(like_.runs, [&](const Run& run) {
        const std::size_t at = static_cast<std::size_t>(&op - draft_.program.operators.data());
        return at >= run.begin && at < run.end;
      });
      if (!passed && !own && ids_.contains(id) && draft_.listed(id) == nullptr) op.args.emplace_back().is = TensorRef{ids_.at(id)};
    }
  }

  Draft& draft_;
  Family like_, after_;
  Ids ids_;
};

// Each is updated, cleared and listed where the other was. What the first of all leaves, the second finds.
void swap_turns(Draft& draft, TensorId one, TensorId other) {
  const auto of_one = owned_by(draft, one), of_other = owned_by(draft, other);
  Ids ids{{one, other}, {other, one}};
  for (const auto& [what, id] : of_one) {
    const auto found = of_other.find(what);
    if (found == of_other.end()) continue;
    ids[id] = found->second;
    ids[found->second] = id;
  }
  for (Operator& op : draft.program.operators) {
    const bool updates = op.module == kNoModule && (op.kind == OperatorKind::library || op.kind == OperatorKind::clear_gradient);
    if (updates) rename(op, ids);
  }
}

bool is_used_by_layers(const Draft& draft, TensorId parameter) {
  return std::ranges::any_of(draft.program.operators, [&](const Operator& op) { return op.module != kNoModule && uses(op, parameter); });
}

void take_away(Draft& draft, TensorId id) {
  if (draft.added.erase(id) == 0) draft.gone.insert(id);
}

// The update, its states and the gradient of a parameter that no layer uses.
Reason drop_update(Draft& draft, TensorId parameter) {
  const auto family = family_of(draft, parameter);
  if (!family) return family.error();
  std::vector<Operator>& operators = draft.program.operators;
  for (std::size_t at = family->runs.size(); at-- > 0;) {
    const Run& run = family->runs[at];
    Ids ids;
    for (std::size_t one = 0; one < run.left.size() && run.left.size() == run.found.size(); ++one) ids[run.left[one]] = run.found[one];
    operators.erase(operators.begin() + static_cast<std::ptrdiff_t>(run.begin), operators.begin() + static_cast<std::ptrdiff_t>(run.end));
    for (std::size_t place = run.begin; place < operators.size(); ++place) {
      if (operators[place].kind == OperatorKind::free) rename(operators[place], ids);
    }
  }
  for (Operator& op : operators) {
    const auto where = place(op, *family, *family);
    if (!where) continue;
    for_each_list(op, [&](Values& list) {
      if (list.size() == where->size) list.erase(list.begin() + static_cast<std::ptrdiff_t>(where->element));
    });
    if (op.kind == OperatorKind::library && op.out.size() == where->size && op.out.size() > 1)
      op.out.erase(op.out.begin() + static_cast<std::ptrdiff_t>(where->element));
  }
  for (const TensorId id : family->ids) {
    if (id != parameter && draft.listed(id) != nullptr) take_away(draft, id);
  }
  return std::nullopt;
}

}  // namespace

Reason update_also(Draft& draft, TensorId added, const std::vector<TensorId>& likes, TensorId beside, bool first) {
  std::optional<Family> example;
  for (const TensorId id : likes) {
    auto family = family_of(draft, id);
    if (!family) return family.error();
    const bool better = !example || (!example->steady() && family->steady() && family->runs.size() == example->runs.size());
    if (better) example = std::move(*family);
    if (example->steady()) break;
  }
  if (!example) return "no parameter shows what the step does with a new one";
  auto before = beside == kNoTensor ? std::expected<Family, std::string>(*example) : family_of(draft, beside);
  if (!before) return before.error();
  auto why = Addition(draft, added, std::move(*example), std::move(*before)).run();
  if (!why && first && beside != kNoTensor) swap_turns(draft, beside, added);
  return why;
}

Reason leave_without_gradient(Draft& draft, TensorId parameter) {
  return is_used_by_layers(draft, parameter) ? std::nullopt : drop_update(draft, parameter);
}

Reason remove_parameter(Draft& draft, TensorId parameter) {
  if (is_used_by_layers(draft, parameter)) return std::nullopt;
  if (auto why = drop_update(draft, parameter)) return why;
  take_away(draft, parameter);
  return std::nullopt;
}

}  // namespace hotlens::lab
