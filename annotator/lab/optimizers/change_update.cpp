#include "annotator/lab/optimizers/change_update.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "annotator/lab/structure/draft.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/update.h"

namespace hotlens::layers {
namespace {

using lab::kNoTensor;
using lab::Tensor;
using lab::TensorId;
using lab::Updated;

class UpdateChange {
 public:
  UpdateChange(Rewritten& rewritten, const OptimizerEdit& edit)
      : rewritten_(rewritten), edit_(edit), draft_(std::move(rewritten.program)) {}

  std::optional<Unclear> run() {
    auto updates = lab::read_updates(draft_.program);
    if (!updates) return unclear(updates.error());
    if (!edit_.calls.empty() && edit_.calls.size() != updates->size())
      return unclear({.reason = "which of several optimizers takes the recorded step is not followed"});
    std::vector<lab::Replacement> replacements;
    for (std::size_t at = 0; at < updates->size(); ++at) {
      lab::Update& update = (*updates)[at];
      if (!edit_.calls.empty() && !edit_.calls[at]) continue;
      if (update.parameters.empty()) return unclear({.reason = "the update is fused in a way that is not known"});
      if ((update.family == lab::OptimizerFamily::adam) != edit_.was_adam)
        return unclear({.reason = "the recorded step is that of another optimizer"});
      for (Updated& one : update.parameters) {
        if (auto why = change(one, update.family)) return unclear(std::move(*why));
      }
      replacements.push_back({.begin = update.begin, .end = update.end, .operators = written(update)});
    }
    lab::replace_operators(draft_.program, std::move(replacements));
    adopt(rewritten_, lab::finish(std::move(draft_)));
    return std::nullopt;
  }

 private:
  Unclear unclear(lab::NotHere why) const {
    return {.reason = std::move(why.reason), .module = std::move(why.module), .at = edit_.at, .op = std::move(why.op)};
  }

  const Tensor& parameter(const Updated& one) const { return draft_.program.tensors.at(static_cast<std::size_t>(one.parameter)); }

  std::optional<lab::NotHere> change(Updated& one, lab::OptimizerFamily was) {
    if (!lab::is_real(parameter(one).dtype)) return lab::NotHere{.reason = "how complex parameters are updated is not followed"};
    lab::Rule& rule = one.rule;
    const bool stays = (was == lab::OptimizerFamily::adam) == edit_.adam;
    if (!stays)
      rule = {
          .rate = rule.rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = rule.weight_decay, .maximize = rule.maximize};
    if (edit_.weight_decay) rule.weight_decay = *edit_.weight_decay;
    if (edit_.momentum) rule.momentum = *edit_.momentum;
    if (edit_.nesterov) rule.nesterov = *edit_.nesterov;
    if (edit_.maximize) rule.maximize = *edit_.maximize;
    rule.decoupled = edit_.decoupled && rule.weight_decay != 0;
    const bool amsgrad = edit_.adam && edit_.amsgrad.value_or(one.largest != kNoTensor), momentum = !edit_.adam && rule.momentum != 0;
    hold(one, &Updated::first, edit_.adam ? "exp_avg" : "momentum_buffer", edit_.adam || momentum, stays);
    hold(one, &Updated::second, "exp_avg_sq", edit_.adam, stays);
    hold(one, &Updated::largest, "max_exp_avg_sq", amsgrad, stays);
    hold(one, &Updated::step, "step", edit_.adam, stays);
    return std::nullopt;
  }

  // A state that the new update has for a parameter, in each of its calls; what is recorded of it stays where the class does.
  void hold(Updated& one, TensorId Updated::* which, const std::string& name, bool has, bool stays) {
    TensorId& id = one.*which;
    if (has && stays && id != kNoTensor) return;
    if (id != kNoTensor) draft_.gone.insert(id);
    id = kNoTensor;
    if (!has) return;
    TensorId& made = made_.try_emplace({one.parameter, name}, kNoTensor).first->second;
    if (made == kNoTensor) made = draft_.add(state(one, name));
    id = made;
  }

  // As `torch.zeros_like(parameter)` makes it; the count of steps is a number beside the parameters.
  Tensor state(const Updated& one, const std::string& name) const {
    const Tensor& of = parameter(one);
    Tensor made{.kind = lab::TensorKind::state,
                .name = name + " of " + of.name,
                .dtype = of.dtype,
                .device = of.device,
                .shape = of.shape,
                .stride = of.stride};
    if (name == "step") {
      made.dtype = of.dtype == "float64" ? "float64" : "float32";
      if (!is_fused()) made.device = "cpu";
      made.shape.clear();
      made.stride.clear();
      made.storage_bytes.offset = made.dtype == "float64" ? 8 : 4;
      made.value.emplace().is = 100.0;
      return made;
    }
    std::vector<std::int64_t> sizes;
    for (const lab::Whole& size : of.shape) sizes.push_back(size.offset);
    made.storage_bytes.offset = lab::elements(of) * lab::width_of(of.dtype);
    lab::shape(made, sizes);
    return made;
  }

  bool is_fused() const { return edit_.fused.value_or(false); }

  lab::Form form(const lab::Update& update) const {
    if (!edit_.lists) return update.form;
    if (is_fused()) return lab::Form::fused;
    const bool chosen = draft_.program.device != "cpu";
    return *edit_.lists || chosen ? lab::Form::foreach : lab::Form::loop;
  }

  std::vector<lab::Operator> written(lab::Update update) {
    update.family = edit_.adam ? lab::OptimizerFamily::adam : lab::OptimizerFamily::sgd;
    const lab::Fresh fresh = [&] { return draft_.fresh(); };
    const lab::Form as = form(update);
    if (as == lab::Form::loop) return lab::update_in_turn(fresh, update.family, update.parameters);
    std::vector<lab::Operator> all;
    for (const auto& group : lab::groups(draft_.program, update)) {
      auto some = as == lab::Form::fused ? lab::update_at_once(update.family, group) : lab::update_in_lists(fresh, update.family, group);
      std::ranges::move(some, std::back_inserter(all));
    }
    return all;
  }

  Rewritten& rewritten_;
  const OptimizerEdit& edit_;
  lab::Draft draft_;
  std::map<std::pair<TensorId, std::string>, TensorId> made_;
};

}  // namespace

std::optional<Unclear> change_update(Rewritten& rewritten, const OptimizerEdit& edit) {
  return UpdateChange(rewritten, edit).run();
}

}  // namespace hotlens::layers
