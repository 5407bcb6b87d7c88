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

Edited optimizer_fused(Program program) {
  const auto updates = read_updates(program);
  if (!updates) return std::unexpected(updates.error());
  std::vector<Replacement> replacements;
  std::size_t parameters = 0, replaced = 0;
  for (const Update& update : *updates) {
    if (update.form == Form::fused) continue;
    Replacement replacement{.begin = update.begin, .end = update.end, .operators = {}};
    for (const auto& group : groups(program, update)) {
      move_steps(program, group);
      std::ranges::move(update.family == Family::adam ? adam(group) : sgd(group), std::back_inserter(replacement.operators));
    }
    parameters += update.parameters.size();
    replaced += library_operators(program, replacement);
    replacements.push_back(std::move(replacement));
  }
  if (replacements.empty()) return std::unexpected(NotHere{.reason = "the optimizer is fused already"});
  replace_operators(program, std::move(replacements));
  return Edit{.program = std::move(program),
              .evidence = counted(replaced, "operator updates ", "operators update ") + counted(parameters, "parameter", "parameters"),
              .modules = {}};
}

}  // namespace hotlens::lab
