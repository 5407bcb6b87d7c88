// `bias=False` in layers whose result goes straight into a batch norm: in training that takes off the mean, and the bias with it.
#include <algorithm>
#include <array>
#include <map>

#include "annotator/lab/structure/parameters.h"
#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kBias = 2, kNormTrains = 5;  // arguments of the layer's operator and of aten::batch_norm

bool has_place_for_bias(const Operator& op) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"aten::linear", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
                                       "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"});
  return op.kind == OperatorKind::library && std::ranges::find(kNames, op.name) != kNames.end();
}

bool takes_off_the_mean(const Operator& op, TensorId of) {
  return op.name == "aten::batch_norm" && tensor_of(argument(op, 0, "input")) == of && is_true(argument(op, kNormTrains, "training"));
}

// Whether nothing but batch norms in training reads the operator's result.
bool goes_to_norm(const Program& program, const Dataflow& flow, std::size_t at) {
  const Operator& op = program.operators[at];
  const std::vector<std::size_t> readers = op.out.size() == 1 ? flow.readers(op.out[0], at) : std::vector<std::size_t>();
  const auto is_norm = [&](std::size_t reader) { return takes_off_the_mean(program.operators[reader], op.out[0]); };
  return !readers.empty() && std::ranges::all_of(readers, is_norm);
}

using Uses = std::map<TensorId, std::vector<std::size_t>>;  // operators that add it, by the bias

// Biases that every use adds to what a batch norm takes.
Uses useless_biases(const Program& program) {
  const Dataflow flow(program);
  Uses found;
  std::vector<TensorId> needed;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const Operator& op = program.operators[at];
    const TensorId bias = has_place_for_bias(op) ? tensor_of(argument(op, kBias, "bias")) : kNoTensor;
    const bool of_model = op.module != kNoModule || op.stage == Stage::forward || op.stage == Stage::loss;
    const bool useless = bias != kNoTensor && op.module != kNoModule && goes_to_norm(program, flow, at);
    for_each_tensor(op, [&](TensorId id) {
      if (of_model && !(useless && id == bias)) needed.push_back(id);
    });
    const bool is_parameter = bias >= 0 && static_cast<std::size_t>(bias) < program.tensors.size() &&
                              program.tensors[static_cast<std::size_t>(bias)].kind == TensorKind::parameter;
    if (is_parameter && useless) found[bias].push_back(at);
  }
  std::erase_if(found, [&](const auto& one) { return std::ranges::find(needed, one.first) != needed.end(); });
  return found;
}

}  // namespace

Edited no_conv_bias(Program program) {
  const Uses useless = useless_biases(program);
  if (useless.empty())
    return std::unexpected(NotHere{.reason = "no layer adds a bias to what goes straight into a batch norm in training"});
  std::vector<std::string> modules;
  Draft draft(std::move(program));
  for (const auto& [bias, uses] : useless) {
    for (const std::size_t at : uses) {
      *argument(draft.program.operators[at], kBias, "bias") = {Nothing{}};
      add_module(modules, draft.program, draft.program.operators[at]);
    }
  }
  for (const auto& [bias, uses_of_it] : useless) {
    const std::string name = draft.listed(bias)->name;
    if (auto why = remove_parameter(draft, bias)) return std::unexpected(NotHere{.reason = "`" + name + "`: " + *why});
    const auto still = std::ranges::find_if(draft.program.operators, [&](const Operator& op) { return uses(op, bias); });
    if (still != draft.program.operators.end())
      return std::unexpected(not_here_at(draft.program, *still, "it works with `" + name + "` too"));
  }
  Finished finished = finish(std::move(draft));
  release_after_last_use(finished.program);
  return Edit{
      .program = std::move(finished.program),
      .evidence = counted(useless.size(), "layer adds a bias", "layers add biases") + ", which the batch norm behind takes off again",
      .modules = std::move(modules)};
}

}  // namespace hotlens::lab
