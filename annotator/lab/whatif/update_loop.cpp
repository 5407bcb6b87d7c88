// The update as torch.optim writes it for one parameter after the other. A temporary lives until the next parameter's takes its name.
#include <utility>

#include "annotator/lab/structure/releases.h"
#include "annotator/lab/whatif/update.h"

namespace hotlens::lab {
namespace {

Value reference(TensorId id) {
  return {TensorRef{id}};
}

class Loop {
 public:
  explicit Loop(const Fresh& fresh) : fresh_(fresh) {}

  void adam(const Updated& one) {
    const Rule& rule = one.rule;
    begin(one);
    add("add_", "Tensor", {reference(one.step), {Whole{1}}}, {}, one.step);
    if (rule.weight_decay != 0 && rule.decoupled)
      add("mul_", "Tensor", {reference(one.parameter), {1 - rule.rate * rule.weight_decay}}, {}, one.parameter);
    if (!rule.decoupled) decay(one);
    add("lerp_", "Scalar", {reference(one.first), gradient_, {1 - rule.beta1}}, {}, one.first);
    add("mul_", "Tensor", {reference(one.second), {rule.beta2}}, {}, one.second);
    add("addcmul_", "", {reference(one.second), gradient_, gradient_}, {{"value", {1 - rule.beta2}}}, one.second);
    add("item", "", {reference(one.step)}, {}, kNoTensor);
    const bool largest = one.largest != kNoTensor;
    if (largest) add("maximum", "out", {reference(one.largest), reference(one.second)}, {{"out", reference(one.largest)}}, one.largest);
    const TensorId root = fresh_(), denominator = fresh_();
    add("sqrt", "", {reference(largest ? one.largest : one.second)}, {}, root);
    add("div", "Tensor", {reference(root), {1.0}}, {}, denominator);
    release({root});
    add("add_", "Tensor", {reference(denominator), {rule.epsilon}}, {}, denominator);
    give(denominator_, denominator);
    add("addcdiv_", "", {reference(one.parameter), reference(one.first), reference(denominator)}, {{"value", {-rule.rate}}}, one.parameter);
  }

  void sgd(const Updated& one) {
    const Rule& rule = one.rule;
    begin(one);
    decay(one);
    if (one.first != kNoTensor) {
      add("mul_", "Tensor", {reference(one.first), {rule.momentum}}, {}, one.first);
      add("add_", "Tensor", {reference(one.first), gradient_}, {{"alpha", {1 - rule.dampening}}}, one.first);
      if (rule.nesterov) {
        replace("add", "Tensor", {gradient_, reference(one.first)}, {{"alpha", {rule.momentum}}});
      } else {
        give(own_, kNoTensor);
        gradient_ = reference(one.first);
      }
    }
    add("add_", "Tensor", {reference(one.parameter), gradient_}, {{"alpha", {-rule.rate}}}, one.parameter);
  }

  std::vector<Operator> take() && {
    std::vector<TensorId> left;
    for (const TensorId id : {own_, denominator_}) {
      if (id != kNoTensor) left.push_back(id);
    }
    if (!left.empty()) release(left);
    return std::move(operators_);
  }

 private:
  void begin(const Updated& one) {
    gradient_ = {GradientRef{one.parameter}};
    if (one.rule.maximize) return replace("neg", "", {gradient_});
    give(own_, kNoTensor);
  }

  // Weight decay that is part of the gradient.
  void decay(const Updated& one) {
    if (one.rule.weight_decay != 0) replace("add", "Tensor", {gradient_, reference(one.parameter)}, {{"alpha", {one.rule.weight_decay}}});
  }

  void replace(const char* name, const char* overload, Values args, std::vector<std::pair<std::string, Value>> kwargs = {}) {
    const TensorId made = fresh_();
    add(name, overload, std::move(args), std::move(kwargs), made);
    give(own_, made);
    gradient_ = reference(made);
  }

  // A name of the loop stands for another tensor now.
  void give(TensorId& name, TensorId now) {
    const TensorId was = std::exchange(name, now);
    if (was != kNoTensor) release({was});
  }

  void release(const std::vector<TensorId>& ids) { operators_.push_back(lab::release(ids)); }

  void add(const std::string& name, const char* overload, Values args, std::vector<std::pair<std::string, Value>> kwargs, TensorId out) {
    std::vector<TensorId> made;
    if (out != kNoTensor) made.push_back(out);
    operators_.push_back(update_operator("aten::" + name, overload, std::move(args), std::move(kwargs), std::move(made)));
  }

  const Fresh& fresh_;
  Value gradient_;
  TensorId own_ = kNoTensor, denominator_ = kNoTensor;  // what the loop made for the parameter before
  std::vector<Operator> operators_;
};

}  // namespace

std::vector<Operator> update_in_turn(const Fresh& fresh, OptimizerFamily family, const std::vector<Updated>& group) {
  Loop loop(fresh);
  for (const Updated& one : group) family == OptimizerFamily::adam ? loop.adam(one) : loop.sgd(one);
  return std::move(loop).take();
}

}  // namespace hotlens::lab
