#include "annotator/lab/casts/retype.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/structure/draft.h"
#include "annotator/lab/structure/handover.h"
#include "annotator/lab/structure/releases.h"

namespace hotlens::layers {
namespace {

using lab::Operator;
using lab::OperatorKind;
using lab::Tensor;
using lab::TensorId;
using lab::TensorKind;
using lab::Whole;

void set_dtype(Tensor& tensor, const std::string& dtype) {
  const std::int64_t was = lab::width_of(tensor.dtype), is = lab::width_of(dtype);
  for (std::int64_t* part : {&tensor.storage_bytes.offset, &tensor.storage_bytes.numerator, &tensor.storage_bytes.square})
    *part = *part * is / was;
  tensor.dtype = dtype;
}

// Memory of its own that holds its elements alone; false: how much that is depends on the batch size in a way that is not followed.
bool make_dense(Tensor& tensor) {
  Whole step{.offset = 1};
  std::vector<Whole> strides(tensor.shape.size());
  for (std::size_t at = tensor.shape.size(); at-- > 0;) {
    const Whole& size = tensor.shape[at];
    if (size.denominator != 1 || size.square != 0 || (size.numerator != 0 && step.numerator != 0)) return false;
    strides[at] = step;
    step = {.offset = step.offset * size.offset, .numerator = step.numerator * size.offset + step.offset * size.numerator};
  }
  const std::int64_t width = lab::width_of(tensor.dtype);
  tensor.stride = std::move(strides);
  tensor.offset = {};
  tensor.storage_bytes = {.offset = step.offset * width, .numerator = step.numerator * width};
  return true;
}

class Retyping {
 public:
  Retyping(Rewritten& rewritten, const CastEdit& edit) : rewritten_(rewritten), edit_(edit), draft_(std::move(rewritten.program)) {}

  std::optional<Unclear> run() {
    lab::release_after_last_use(draft_.program);  // what autograd keeps depends on the type
    if (edit_.model) cast_model(*edit_.model);
    if (edit_.standard) cast_factories(*edit_.standard);
    for (const CastOf of : {CastOf::input, CastOf::target}) {
      if (auto why = cast_given(of)) return why;
    }
    for (const GivenCast& one : edit_.given) {
      if (one.of != CastOf::result) continue;
      if (auto why = cast_result(one)) return why;
    }
    lab::let_go_in_time(draft_);
    adopt(rewritten_, lab::finish(std::move(draft_)));
    return std::nullopt;
  }

 private:
  Unclear unclear(std::string reason) const { return {.reason = std::move(reason), .at = edit_.at}; }

  void cast_model(const std::string& dtype) {
    for (Tensor& tensor : draft_.program.tensors) {
      const bool held = tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::buffer || tensor.kind == TensorKind::gradient;
      const bool state = tensor.kind == TensorKind::state && !tensor.name.starts_with("step of ");
      if ((held || state) && lab::width_of(tensor.dtype) != 0) set_dtype(tensor, dtype);
      const bool counter = tensor.kind == TensorKind::state && !state && lab::width_of(tensor.dtype) != 0;
      if (counter && edit_.standard) set_dtype(tensor, *edit_.standard == "float64" ? "float64" : "float32");
    }
  }

  // Of what forward and loss make of nothing: `torch.randn(8, 4)`.
  void cast_factories(const std::string& dtype) {
    constexpr std::array<std::string_view, 10> kFactories{"aten::zeros",  "aten::ones",         "aten::rand",     "aten::randn",
                                                          "aten::empty",  "aten::eye",          "aten::linspace", "aten::full",
                                                          "aten::normal", "aten::scalar_tensor"};
    for (Operator& op : draft_.program.operators) {
      if (std::ranges::find(kFactories, std::string_view(op.name)) == kFactories.end()) continue;
      const bool whole = op.name == "aten::full" && (op.args.size() < 2 || !std::holds_alternative<double>(op.args[1].is));
      const auto given = std::ranges::find(op.kwargs, "dtype", &std::pair<std::string, lab::Value>::first);
      lab::Value type;
      type.is = lab::NamedValue{.kind = lab::Named::dtype, .name = dtype};
      if (whole || (given != op.kwargs.end() && !std::holds_alternative<lab::Nothing>(given->second.is))) continue;
      if (given != op.kwargs.end()) {
        given->second = std::move(type);
      } else {
        op.kwargs.emplace_back("dtype", std::move(type));
      }
    }
  }

  // Real tensors that the loop hands to the model, or to the loss alone.
  std::vector<TensorId> given(CastOf of) const {
    std::vector<TensorId> all;
    for (std::size_t at = 0; at < draft_.program.tensors.size(); ++at) {
      const Tensor& tensor = draft_.program.tensors[at];
      const auto id = static_cast<TensorId>(at);
      if (tensor.kind != TensorKind::input || lab::width_of(tensor.dtype) == 0 || draft_.gone.contains(id)) continue;
      const auto uses = [&](const Operator& op) { return lab::computes(op) && lab::uses(op, id); };
      const auto first = std::ranges::find_if(draft_.program.operators, uses);
      if (first != draft_.program.operators.end() && (first->stage == lab::Stage::forward) == (of == CastOf::input)) all.push_back(id);
    }
    return all;
  }

  std::optional<Unclear> cast_given(CastOf of) {
    std::vector<GivenCast> casts;
    std::ranges::copy_if(edit_.given, std::back_inserter(casts), [&](const GivenCast& one) { return one.of == of; });
    const std::vector<TensorId> tensors = given(of);
    if (edit_.standard) casts.assign(tensors.size(), {.name = {}, .dtype = *edit_.standard});
    if (casts.empty()) return std::nullopt;
    if (casts.size() != tensors.size() || std::ranges::any_of(casts, [&](const GivenCast& one) { return one.dtype != casts[0].dtype; }))
      return unclear("which tensors of the step this casts cannot be told");
    for (std::size_t at = 0; at < tensors.size(); ++at) {
      if (auto why = cast(tensors[at], casts[at])) return why;
    }
    return std::nullopt;
  }

  std::optional<Unclear> cast(TensorId id, const GivenCast& how) {
    Tensor made = draft_.program.tensors[static_cast<std::size_t>(id)];
    if (made.dtype == how.dtype) return std::nullopt;
    set_dtype(made, how.dtype);
    if (!make_dense(made)) return unclear("the size of what this casts is not followed");
    made.foreign = false;
    const TensorId is = draft_.add(std::move(made));
    draft_.recorded[is] = id;
    auto& operators = draft_.program.operators;
    const auto end = how.in_call ? after_forward() : operators.size();
    bool used = false;
    for (std::size_t at = 0; at < operators.size(); ++at) {
      if (at < end) lab::rename(operators[at], {{id, is}});
      used = used || lab::uses(operators[at], id);
    }
    if (how.in_call) operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(end), lab::release({is}));
    if (!used) draft_.gone.insert(id);
    return std::nullopt;
  }

  // Of what the model gives the loss.
  std::optional<Unclear> cast_result(const GivenCast& how) {
    auto& operators = draft_.program.operators;
    std::set<TensorId> made;
    std::map<TensorId, std::size_t> uses;  // the first
    for (std::size_t at = 0; at < operators.size() && operators[at].kind != OperatorKind::backward; ++at) {
      const Operator& op = operators[at];
      if (!lab::computes(op)) continue;
      if (op.module != lab::kNoModule) made.insert(op.out.begin(), op.out.end());
      if (op.module != lab::kNoModule || op.stage != lab::Stage::loss) continue;
      lab::for_each_tensor(op, [&](TensorId id) {
        if (made.contains(id)) uses.emplace(id, at);
      });
    }
    if (uses.size() != 1) return unclear("which result of the model this casts cannot be told");
    const auto [was, place] = *uses.begin();
    Operator op{.kind = OperatorKind::library, .name = "aten::to", .overload = "dtype", .args = {}, .kwargs = {}, .out = {draft_.fresh()}};
    op.args.emplace_back().is = lab::TensorRef{was};
    op.args.emplace_back().is = lab::NamedValue{.kind = lab::Named::dtype, .name = how.dtype};
    op.stage = lab::Stage::loss;
    const TensorId is = op.out[0];
    draft_.recorded[is] = was;
    if (how.in_call) {
      rename_in_call(place, was, is);
      draft_.made.insert(is);
    } else {
      lab::hand_over(draft_, was, is, place);
      draft_.made.insert(was);
    }
    operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(place), std::move(op));
    return std::nullopt;
  }

  // The operator, and what takes the same tensor from it: `torch.broadcast_tensors` gives those that it got.
  void rename_in_call(std::size_t place, TensorId was, TensorId is) {
    auto& operators = draft_.program.operators;
    for (bool goes_on = true; place < operators.size() && goes_on; ++place) {
      if (!lab::computes(operators[place]) || !lab::uses(operators[place], was)) continue;
      goes_on = std::ranges::find(operators[place].out, was) != operators[place].out.end();
      lab::rename(operators[place], {{was, is}});
    }
  }

  // Where the last operator of the model's forward has run.
  std::size_t after_forward() const {
    const auto& operators = draft_.program.operators;
    std::size_t end = 0;
    for (std::size_t at = 0; at < operators.size() && operators[at].kind != OperatorKind::backward; ++at) {
      if (operators[at].module != lab::kNoModule && lab::computes(operators[at])) end = at + 1;
    }
    return end;
  }

  Rewritten& rewritten_;
  const CastEdit& edit_;
  lab::Draft draft_;
};

}  // namespace

std::optional<Unclear> retype(Rewritten& rewritten, const CastEdit& edit) {
  return Retyping(rewritten, edit).run();
}

}  // namespace hotlens::layers
