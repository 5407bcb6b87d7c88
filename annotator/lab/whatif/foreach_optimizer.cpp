// `foreach=True`: each operation of the update takes all parameters of a group at once, and so do its temporaries.
#include "annotator/lab/structure/releases.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/update.h"

namespace hotlens::lab {
namespace {

class Lists {
 public:
  Lists(const Fresh& fresh, const std::vector<Updated>& group)
      : fresh_(fresh),
        group_(group),
        rule_(group.front().rule),
        parameters_{parameters_of(group)},
        gradients_{gradients_of(group)},
        first_{states_of(group, &Updated::first)} {}

  std::vector<Operator> adam() && {
    const Value second{states_of(group_, &Updated::second)}, largest{states_of(group_, &Updated::largest)};
    const Value steps{states_of(group_, &Updated::step)};
    if (rule_.maximize) replace_gradients("neg", "", {gradients_});
    add("add_", "Tensor", {steps, {1.0}}, {{"alpha", {1.0}}});
    if (rule_.decoupled) add("mul_", "Scalar", {parameters_, {1 - rule_.rate * rule_.weight_decay}});
    if (!rule_.decoupled) decay();
    add("lerp_", "Scalar", {first_, gradients_, {1 - rule_.beta1}});
    add("mul_", "Scalar", {second, {rule_.beta2}});
    add("addcmul_", "Scalar", {second, gradients_, gradients_, {1 - rule_.beta2}});
    release_gradients();
    for (int corrections = 0; corrections < 2; ++corrections) {
      for (const Updated& one : group_) operators_.push_back(update_operator("aten::item", "", {{TensorRef{one.step}}}));
    }
    const bool amsgrad = group_.front().largest != kNoTensor;
    if (amsgrad) add("maximum_", "List", {largest, second});
    const std::vector<TensorId> roots = made();
    const Value denominator = values(roots);
    add("sqrt", "", {amsgrad ? largest : second}, {}, roots);
    add("div_", "ScalarList", {denominator, repeated(1.0)});
    add("add_", "Scalar", {denominator, {rule_.epsilon}});
    add("addcdiv_", "ScalarList", {parameters_, first_, denominator, repeated(-rule_.rate)});
    release(roots);
    return std::move(operators_);
  }

  std::vector<Operator> sgd() && {
    if (rule_.maximize) replace_gradients("neg", "", {gradients_});
    decay();
    const bool momentum = group_.front().first != kNoTensor;
    if (momentum) {
      add("mul_", "Scalar", {first_, {rule_.momentum}});
      add("add_", "List", {first_, gradients_}, {{"alpha", {1 - rule_.dampening}}});
    }
    if (momentum && rule_.nesterov) add("add_", "List", {gradients_, first_}, {{"alpha", {rule_.momentum}}});
    if (momentum && !rule_.nesterov) {
      release_gradients();
      gradients_ = first_;
    }
    add("add_", "List", {parameters_, gradients_}, {{"alpha", {-rule_.rate}}});
    release_gradients();
    return std::move(operators_);
  }

 private:
  void add(const std::string& name, const char* overload, Values args, std::vector<std::pair<std::string, Value>> kwargs = {},
           std::vector<TensorId> out = {}) {
    operators_.push_back(update_operator("aten::_foreach_" + name, overload, std::move(args), std::move(kwargs), std::move(out)));
  }

  // Weight decay that is part of the gradient, which is copied for it unless it is a copy already.
  void decay() {
    if (rule_.weight_decay == 0) return;
    const std::pair<std::string, Value> alpha{"alpha", {rule_.weight_decay}};
    if (own_.empty()) return replace_gradients("add", "List", {gradients_, parameters_}, {alpha});
    add("add_", "List", {gradients_, parameters_}, {alpha});
  }

  void replace_gradients(const char* name, const char* overload, Values args, std::vector<std::pair<std::string, Value>> kwargs = {}) {
    own_ = made();
    add(name, overload, std::move(args), std::move(kwargs), own_);
    gradients_ = values(own_);
  }

  void release_gradients() {
    if (!own_.empty()) release(std::exchange(own_, {}));
  }

  void release(const std::vector<TensorId>& ids) { operators_.push_back(lab::release(ids)); }

  std::vector<TensorId> made() {
    std::vector<TensorId> ids;
    for (std::size_t at = 0; at < group_.size(); ++at) ids.push_back(fresh_());
    return ids;
  }

  static Value values(const std::vector<TensorId>& ids) {
    Values all;
    for (const TensorId id : ids) all.emplace_back().is = TensorRef{id};
    return {all};
  }

  Value repeated(double number) const { return {Values(group_.size(), Value{number})}; }

  const Fresh& fresh_;
  const std::vector<Updated>& group_;
  const Rule& rule_;
  Value parameters_, gradients_, first_;
  std::vector<TensorId> own_;  // gradients that the update made
  std::vector<Operator> operators_;
};

}  // namespace

std::vector<Operator> update_in_lists(const Fresh& fresh, OptimizerFamily family, const std::vector<Updated>& group) {
  Lists lists(fresh, group);
  return family == OptimizerFamily::adam ? std::move(lists).adam() : std::move(lists).sgd();
}

Edited foreach_optimizer(Program program) {
  return replace_updates(std::move(program), {Form::foreach, Form::fused}, "the optimizer works on lists or is fused already",
                         [](Program& of, OptimizerFamily family, const std::vector<Updated>& group) {
                           return update_in_lists([&] { return static_cast<TensorId>(of.ids++); }, family, group);
                         });
}

}  // namespace hotlens::lab
