#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {

// The input is (steps, sequences, width) in one order or the other, or packed; weights are lists or single arguments, biases have one
// dimension. What lies after the weights (states) has three dimensions, or is no weight by its position.
RuleResult recurrent(const Arguments& given) {
  const Shape* input = given.tensor(0);
  if (!input || input->size() < 2 || input->back() <= 0) return std::nullopt;
  const auto operand = elements(*input);
  if (!operand) return std::nullopt;
  constexpr std::size_t kLastWeight = 4;  // mkldnn_rnn_layer has them at 1 to 4, lstm and gru in a list at 2 or 3, _cudnn_rnn at 1
  double weights = 0;
  ByteSum bytes;
  bytes.add(given, 0);
  for (std::size_t at = 1; at <= kLastWeight && at < given.all().size(); ++at) {
    for (const Shape& weight : given.all()[at].tensors) {
      if (weight.size() != 2) continue;
      const auto size = elements(weight);
      if (!size) return std::nullopt;
      weights += *size;
      bytes.add(*size, given.at(0)->element_bytes);
    }
  }
  if (weights <= 0) return std::nullopt;
  return Amount{2 * (*operand / static_cast<double>(input->back())) * weights, bytes.sum()};
}

RuleResult recurrent_backward(const Arguments& given) {
  RuleResult amount = recurrent(given);
  if (!amount) return std::nullopt;
  amount->flops *= 2;
  if (amount->bytes) *amount->bytes *= 2;
  return amount;
}

}  // namespace hotlens::kernels
