// `nn.Dropout(0)`: every dropout, also inside attention and recurrent layers, gives back what it gets.
#include <array>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

// Where an operator has its probability and, where there is one, the switch that tells training.
struct Dropout {
  std::string_view op;
  std::size_t probability;
  std::string_view probability_name;
  std::size_t train;
  std::string_view train_name;  // empty: there is no switch
};

constexpr std::array<Dropout, 11> kDropouts{{
    {"aten::dropout", 1, "p", 2, "train"},
    {"aten::dropout_", 1, "p", 2, "train"},
    {"aten::feature_dropout", 1, "p", 2, "train"},
    {"aten::feature_dropout_", 1, "p", 2, "train"},
    {"aten::alpha_dropout", 1, "p", 2, "train"},
    {"aten::feature_alpha_dropout", 1, "p", 2, "train"},
    {"aten::scaled_dot_product_attention", 4, "dropout_p", 0, ""},
    {"aten::lstm", 5, "dropout", 6, "train"},
    {"aten::gru", 5, "dropout", 6, "train"},
    {"aten::rnn_tanh", 5, "dropout", 6, "train"},
    {"aten::rnn_relu", 5, "dropout", 6, "train"},
}};

}  // namespace

Edited no_dropout(Program program) {
  std::size_t changed = 0;
  std::vector<std::string> modules;
  for (Operator& op : program.operators) {
    const auto* dropout = std::ranges::find(kDropouts, op.name, &Dropout::op);
    if (dropout == kDropouts.end()) continue;
    const std::size_t packed = op.overload == "data" ? 1 : 0;  // the lengths of packed sequences come before
    Value* probability = argument(op, dropout->probability + packed, dropout->probability_name);
    const bool trains = dropout->train_name.empty() || is_true(argument(op, dropout->train + packed, dropout->train_name));
    if (!trains || number(probability).value_or(0) == 0) continue;
    *probability = {0.0};
    add_module(modules, program, op);
    ++changed;
  }
  if (changed == 0) return std::unexpected(NotHere{.reason = "no dropout is on in the recorded step"});
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(changed, "operator drops values", "operators drop values"),
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
