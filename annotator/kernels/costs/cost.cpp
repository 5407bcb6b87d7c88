#include "annotator/kernels/costs/cost.h"

#include <algorithm>
#include <array>

#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {
namespace {

struct Rule {
  std::string_view name;  // without "aten::"
  Work work;
  RuleResult (*amount)(const Arguments&);
};

template <std::size_t Causal>
RuleResult sdpa(const Arguments& given) {
  return attention(given, Causal);
}
template <std::size_t Causal>
RuleResult sdpa_backward(const Arguments& given) {
  return attention_backward(given, Causal);
}

// A composite and what it calls may both have a rule: the innermost of them is the one that counts (annotator/costs).
constexpr auto kArithmetic = std::to_array<Rule>({
    {"mm", Work::product, mm},
    {"bmm", Work::product, mm},
    {"_scaled_mm", Work::product, mm},
    {"_int_mm", Work::product, mm},
    {"addmm", Work::product, addmm},
    {"baddbmm", Work::product, addmm},
    {"_addmm_activation", Work::product, addmm},
    {"linear", Work::product, linear},
    {"mv", Work::product, vector_product},
    {"dot", Work::product, vector_product},
    {"addmv", Work::product, add_vector_product},
    {"convolution", Work::convolution, convolution},
    {"_convolution", Work::convolution, convolution},
    {"convolution_backward", Work::convolution, convolution_backward},
    {"scaled_dot_product_attention", Work::attention, sdpa<5>},
    {"_scaled_dot_product_flash_attention", Work::attention, sdpa<4>},
    {"_scaled_dot_product_flash_attention_for_cpu", Work::attention, sdpa<4>},
    {"_scaled_dot_product_efficient_attention", Work::attention, sdpa<6>},
    {"_scaled_dot_product_cudnn_attention", Work::attention, sdpa<6>},
    {"_scaled_dot_product_flash_attention_backward", Work::attention, sdpa_backward<11>},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", Work::attention, sdpa_backward<7>},
    {"_scaled_dot_product_efficient_attention_backward", Work::attention, sdpa_backward<11>},
    {"_scaled_dot_product_cudnn_attention_backward", Work::attention, sdpa_backward<14>},
    {"lstm", Work::recurrent, recurrent},
    {"gru", Work::recurrent, recurrent},
    {"rnn_tanh", Work::recurrent, recurrent},
    {"rnn_relu", Work::recurrent, recurrent},
    {"_cudnn_rnn", Work::recurrent, recurrent},
    {"miopen_rnn", Work::recurrent, recurrent},
    {"mkldnn_rnn_layer", Work::recurrent, recurrent},
    {"_cudnn_rnn_backward", Work::recurrent, recurrent_backward},
    {"miopen_rnn_backward", Work::recurrent, recurrent_backward},
    {"mkldnn_rnn_layer_backward", Work::recurrent, recurrent_backward},
});

// Only operators that do their work themselves: what lies inside one is part of it. Those that end in "_" and are not here move what the
// one without it moves, but for the result, which is the first operand.
constexpr auto kMoves = std::to_array<Rule>({
    {"copy_", Work::move, copy},
    {"cat", Work::move, concatenation},
    {"fill_", Work::move, fill},
    {"zero_", Work::move, fill},
    {"bernoulli_", Work::move, fill},
    {"normal_", Work::move, fill},
    {"uniform_", Work::move, fill},
    {"random_", Work::move, fill},
    {"native_dropout", Work::move, dropout},
    {"embedding", Work::move, embedding},
    {"embedding_dense_backward", Work::move, embedding_backward},
    {"_local_scalar_dense", Work::move, reduction},
    {"native_layer_norm", Work::move, like_first},
    {"native_layer_norm_backward", Work::move, like_first},
    {"native_group_norm", Work::move, like_first},
    {"native_group_norm_backward", Work::move, like_first},
    {"native_batch_norm", Work::move, like_first},
    {"native_batch_norm_backward", Work::move, like_first},
    {"cudnn_batch_norm", Work::move, like_first},
    {"cudnn_batch_norm_backward", Work::move, like_first},
    {"miopen_batch_norm", Work::move, like_first},
    {"miopen_batch_norm_backward", Work::move, like_first},
    {"_fused_rms_norm", Work::move, like_first},
    {"_fused_rms_norm_backward", Work::move, like_first},
    {"_softmax", Work::move, like_first},
    {"_log_softmax", Work::move, like_first},
    {"_softmax_backward_data", Work::move, elementwise},
    {"_log_softmax_backward_data", Work::move, elementwise},
    {"nll_loss_forward", Work::move, reduction},
    {"nll_loss_backward", Work::move, like_second},
    {"nll_loss2d_forward", Work::move, reduction},
    {"nll_loss2d_backward", Work::move, like_second},
    {"max_pool2d_with_indices", Work::move, reduction},
    {"max_pool2d_with_indices_backward", Work::move, like_second},
    {"avg_pool2d", Work::move, reduction},
    {"avg_pool2d_backward", Work::move, like_second},
    {"_adaptive_avg_pool2d", Work::move, reduction},
    {"_adaptive_avg_pool2d_backward", Work::move, like_second},
    {"adaptive_max_pool2d", Work::move, reduction},
    {"sum", Work::move, reduction},
    {"mean", Work::move, reduction},
    {"max", Work::move, reduction},
    {"min", Work::move, reduction},
    {"amax", Work::move, reduction},
    {"amin", Work::move, reduction},
    {"argmax", Work::move, reduction},
    {"argmin", Work::move, reduction},
    {"any", Work::move, reduction},
    {"all", Work::move, reduction},
    {"var", Work::move, reduction},
    {"var_mean", Work::move, reduction},
    {"std", Work::move, reduction},
    {"linalg_vector_norm", Work::move, reduction},
    {"cumsum", Work::move, like_first},
    {"_foreach_norm", Work::move, reduction},
});

constexpr auto kElementwise = std::to_array<std::string_view>({
    "abs",
    "add",
    "addcdiv",
    "addcmul",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "cos",
    "div",
    "elu",
    "erf",
    "exp",
    "floor",
    "floor_divide",
    "fmod",
    "gelu",
    "glu",
    "gelu_backward",
    "hardsigmoid",
    "hardsigmoid_backward",
    "hardswish",
    "hardtanh",
    "hardtanh_backward",
    "hardswish_backward",
    "leaky_relu",
    "leaky_relu_backward",
    "lerp",
    "log",
    "log1p",
    "masked_fill",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sigmoid",
    "sigmoid_backward",
    "sign",
    "silu",
    "silu_backward",
    "sin",
    "softplus",
    "sqrt",
    "sub",
    "tanh",
    "tanh_backward",
    "threshold",
    "threshold_backward",
    "tril",
    "triu",
    "where",
    "softplus_backward",
    "elu_backward",
    "native_dropout_backward",
    "masked_scale",
    "mse_loss",
});

constexpr auto kComparisons =
    std::to_array<std::string_view>({"eq", "ge", "gt", "le", "lt", "ne", "isnan", "isinf", "logical_and", "logical_not", "logical_or"});

// Optimizers: every list read, the first written.
bool works_on_lists(std::string_view name) {
  return name.starts_with("_foreach_") || name.starts_with("_fused_ada") || name.starts_with("_fused_sgd") ||
         name.starts_with("_amp_foreach_");
}

RuleResult on_lists(const Arguments& given) {
  if (given.all().empty() || given.all().front().tensors.empty()) return std::nullopt;
  return Amount{0, ByteSum().add_all(given).add(given, 0).sum()};
}

std::optional<Rule> rule_of(std::string_view name) {
  constexpr std::string_view kScope = "aten::";
  if (!name.starts_with(kScope)) return std::nullopt;
  name.remove_prefix(kScope.size());
  if (const auto at = std::ranges::find(kArithmetic, name, &Rule::name); at != kArithmetic.end()) return *at;
  if (const auto at = std::ranges::find(kMoves, name, &Rule::name); at != kMoves.end()) return *at;
  if (works_on_lists(name)) return Rule{name, Work::move, on_lists};
  if (std::ranges::find(kComparisons, name) != kComparisons.end()) return Rule{name, Work::move, comparison};
  const bool in_the_first = name.ends_with('_');
  if (in_the_first) name.remove_suffix(1);
  if (std::ranges::find(kElementwise, name) == kElementwise.end()) return std::nullopt;
  return Rule{name, Work::move, in_the_first ? in_place : elementwise};
}

std::string_view short_type(std::string_view type) {
  if (type == "float") return "f32";
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "f16";
  if (type == "double") return "f64";
  return type.starts_with("c10::Float8") ? "f8" : type == "signed char" ? "i8" : "";
}

}  // namespace

std::string_view name(Work work) {
  constexpr std::array<std::string_view, kWorks> kNames = {"product", "convolution", "attention", "recurrent", "move"};
  return kNames[static_cast<std::size_t>(work)];
}

bool has_rule(std::string_view operator_name) {
  return rule_of(operator_name).has_value();
}

bool has_arithmetic(std::string_view operator_name) {
  const auto rule = rule_of(operator_name);
  return rule && rule->work != Work::move;
}

std::optional<Cost> cost(std::string_view operator_name, const Arguments& arguments) {
  const auto rule = rule_of(operator_name);
  if (!rule) return std::nullopt;
  const RuleResult amount = rule->amount(arguments);
  if (!amount) return std::nullopt;
  Cost cost{.work = rule->work, .flops = amount->flops, .bytes = amount->bytes, .type = {}};
  if (rule->work == Work::move) return cost;
  for (const Argument& argument : arguments.all()) {
    if (argument.tensors.empty()) continue;
    cost.type = short_type(argument.type);
    break;
  }
  return cost;
}

}  // namespace hotlens::kernels
