// `fused=True`: one operator updates all parameters of a group, without temporaries.
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/update.h"

namespace hotlens::lab {
namespace {

std::vector<Operator> adam(const std::vector<Updated>& group) {
  const Rule& rule = group.front().rule;
  Values lists{{parameters_of(group)},
               {gradients_of(group)},
               {states_of(group, &Updated::first)},
               {states_of(group, &Updated::second)},
               {states_of(group, &Updated::largest)},
               {states_of(group, &Updated::step)}};
  return {update_operator("aten::_foreach_add_", "Scalar", {lists.back(), {Whole{1}}}),
          update_operator(rule.decoupled ? "aten::_fused_adamw_" : "aten::_fused_adam_", "", lists,
                          {{"lr", {rule.rate}},
                           {"beta1", {rule.beta1}},
                           {"beta2", {rule.beta2}},
                           {"weight_decay", {rule.weight_decay}},
                           {"eps", {rule.epsilon}},
                           {"amsgrad", {group.front().largest != kNoTensor}},
                           {"maximize", {rule.maximize}}})};
}

std::vector<Operator> sgd(const std::vector<Updated>& group) {
  const Rule& rule = group.front().rule;
  return {update_operator("aten::_fused_sgd_", "", {{parameters_of(group)}, {gradients_of(group)}, {states_of(group, &Updated::first)}},
                          {{"weight_decay", {rule.weight_decay}},
                           {"momentum", {rule.momentum}},
                           {"lr", {rule.rate}},
                           {"dampening", {rule.dampening}},
                           {"nesterov", {rule.nesterov}},
                           {"maximize", {rule.maximize}},
                           {"is_first_step", {false}}})};
}

// A fused Adam counts its steps where its parameters are.
void move_steps(Program& program, const std::vector<Updated>& group) {
  for (const Updated& one : group) {
    if (one.step == kNoTensor) continue;
    program.tensors[static_cast<std::size_t>(one.step)].device = program.tensors[static_cast<std::size_t>(one.parameter)].device;
  }
}

}  // namespace

std::vector<Operator> update_at_once(OptimizerFamily family, const std::vector<Updated>& group) {
  return family == OptimizerFamily::adam ? adam(group) : sgd(group);
}

Edited fused_optimizer(Program program) {
  return replace_updates(std::move(program), {Form::fused}, "the optimizer is fused already",
                         [](Program& of, OptimizerFamily family, const std::vector<Updated>& group) {
                           move_steps(of, group);
                           return update_at_once(family, group);
                         });
}

}  // namespace hotlens::lab
