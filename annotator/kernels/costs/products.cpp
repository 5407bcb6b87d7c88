#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {
namespace {

// (…, n, k) times (…, k, m) as the arguments at two positions.
RuleResult matrices(const Arguments& given, std::size_t left_at, std::size_t right_at) {
  const Shape *left = given.tensor(left_at), *right = given.tensor(right_at);
  if (!left || !right || left->size() < 2 || left->size() != right->size()) return std::nullopt;
  const std::size_t last = left->size() - 1;
  if ((*left)[last] != (*right)[last - 1]) return std::nullopt;
  for (std::size_t batch = 0; batch + 1 < last; ++batch) {
    if ((*left)[batch] != (*right)[batch]) return std::nullopt;
  }
  const auto operand = elements(*left), other = elements(*right);
  if (!operand || !other) return std::nullopt;
  const double columns = static_cast<double>((*right)[last]), inner = static_cast<double>((*left)[last]);
  const double result = inner > 0 ? *operand / inner * columns : 0;
  ByteSum bytes;
  bytes.add(given, left_at).add(given, right_at).add(result, given.at(left_at)->element_bytes);
  return Amount{2 * *operand * columns, bytes.sum()};
}

RuleResult with_vector(const Arguments& given, std::size_t left_at, std::size_t right_at) {
  const Shape *left = given.tensor(left_at), *right = given.tensor(right_at);
  if (!left || !right || left->empty() || right->size() != 1 || left->back() != right->front()) return std::nullopt;
  const auto operand = elements(*left);
  if (!operand) return std::nullopt;
  ByteSum bytes;
  bytes.add(given, left_at).add(given, right_at);
  if (left->size() == 2) bytes.add(static_cast<double>(left->front()), given.at(left_at)->element_bytes);
  return Amount{2 * *operand, bytes.sum()};
}

}  // namespace

RuleResult mm(const Arguments& given) {
  return matrices(given, 0, 1);
}

RuleResult addmm(const Arguments& given) {
  RuleResult amount = matrices(given, 1, 2);
  if (!amount || !amount->bytes) return amount;
  const auto bias = ByteSum().add(given, 0).sum();
  amount->bytes = bias ? std::optional(*amount->bytes + *bias) : std::nullopt;
  return amount;
}

RuleResult linear(const Arguments& given) {
  const Shape *input = given.tensor(0), *weight = given.tensor(1);
  if (!input || !weight || input->empty() || weight->size() != 2 || input->back() != weight->back()) return std::nullopt;
  const auto operand = elements(*input);
  if (!operand || input->back() <= 0) return std::nullopt;
  const auto columns = static_cast<double>(weight->front());
  ByteSum bytes;
  bytes.add_all(given).add(*operand / static_cast<double>(input->back()) * columns, given.at(0)->element_bytes);
  return Amount{2 * *operand * columns, bytes.sum()};
}

RuleResult vector_product(const Arguments& given) {
  return with_vector(given, 0, 1);
}

RuleResult add_vector_product(const Arguments& given) {
  return with_vector(given, 1, 2);
}

}  // namespace hotlens::kernels
