#include <algorithm>

#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {
namespace {

// As large as operands make it together: what has one in a dimension, from the last, is repeated.
Shape broadcast(const Arguments& given) {
  Shape result;
  for (const Argument& argument : given.all()) {
    for (const Shape& shape : argument.tensors) {
      if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
      for (std::size_t back = 1; back <= shape.size(); ++back) {
        std::int64_t& size = result[result.size() - back];
        if (size == 1) size = shape[shape.size() - back];
      }
    }
  }
  return result;
}

// Of an element of the result: the widest type of those operands that have the most dimensions; numbers are operands without any.
int result_bytes(const Arguments& given) {
  std::size_t dimensions = 0;
  int bytes = 0;
  for (const Argument& argument : given.all()) {
    if (argument.tensors.empty() || argument.tensors.front().size() < dimensions) continue;
    if (argument.tensors.front().size() > dimensions) bytes = 0;
    dimensions = argument.tensors.front().size();
    bytes = std::max(bytes, argument.element_bytes);
  }
  return bytes;
}

RuleResult moved(const ByteSum& bytes) {
  return Amount{0, bytes.sum()};
}

bool has_tensor(const Arguments& given) {
  return std::ranges::any_of(given.all(), [](const Argument& argument) { return !argument.tensors.empty(); });
}

RuleResult read_all_and_write(const Arguments& given, std::size_t like) {
  if (!given.tensor(like)) return std::nullopt;
  ByteSum bytes;
  bytes.add_all(given).add(given, like);
  return moved(bytes);
}

}  // namespace

ByteSum& ByteSum::add(double count, int element_bytes) {
  known_ = known_ && element_bytes > 0;
  sum_ += count * element_bytes;
  return *this;
}

ByteSum& ByteSum::add(const Arguments& given, std::size_t at) {
  const Argument* argument = given.at(at);
  if (!argument) return *this;
  for (const Shape& shape : argument->tensors) {
    const auto count = elements(shape);
    known_ = known_ && count;
    if (count) add(*count, argument->element_bytes);
  }
  return *this;
}

ByteSum& ByteSum::add_all(const Arguments& given) {
  for (std::size_t at = 0; at < given.all().size(); ++at) add(given, at);
  return *this;
}

RuleResult elementwise(const Arguments& given) {
  const auto written = elements(broadcast(given));
  if (!has_tensor(given) || !written) return std::nullopt;
  return moved(ByteSum().add_all(given).add(*written, result_bytes(given)));
}

RuleResult comparison(const Arguments& given) {
  const auto written = elements(broadcast(given));
  if (!has_tensor(given) || !written) return std::nullopt;
  return moved(ByteSum().add_all(given).add(*written, 1));
}

RuleResult in_place(const Arguments& given) {
  return read_all_and_write(given, 0);
}

RuleResult like_first(const Arguments& given) {
  return read_all_and_write(given, 0);
}

RuleResult like_second(const Arguments& given) {
  return read_all_and_write(given, 1);
}

RuleResult reduction(const Arguments& given) {
  if (!has_tensor(given)) return std::nullopt;
  return moved(ByteSum().add_all(given));
}

RuleResult copy(const Arguments& given) {
  if (!given.tensor(0) || !given.tensor(1)) return std::nullopt;
  return moved(ByteSum().add(given, 0).add(given, 1));
}

RuleResult fill(const Arguments& given) {
  if (!given.tensor(0)) return std::nullopt;
  return moved(ByteSum().add(given, 0));
}

RuleResult concatenation(const Arguments& given) {
  if (!has_tensor(given)) return std::nullopt;
  return moved(ByteSum().add_all(given).add_all(given));
}

// (weight, numbers): a row of the weight each.
RuleResult embedding(const Arguments& given) {
  const Shape *weight = given.tensor(0), *numbers = given.tensor(1);
  if (!weight || !numbers || weight->size() != 2) return std::nullopt;
  const auto rows = elements(*numbers);
  if (!rows) return std::nullopt;
  const double width = static_cast<double>(weight->back());
  return moved(ByteSum().add(given, 1).add(2 * *rows * width, given.at(0)->element_bytes));
}

// (gradient, numbers, rows of the weight): the gradient of the whole weight is written.
RuleResult embedding_backward(const Arguments& given) {
  const Shape* gradient = given.tensor(0);
  const auto rows = given.integer(2);
  if (!gradient || gradient->empty() || !rows) return std::nullopt;
  const double written = static_cast<double>(*rows) * static_cast<double>(gradient->back());
  return moved(ByteSum().add_all(given).add(written, given.at(0)->element_bytes));
}

RuleResult dropout(const Arguments& given) {
  const Shape* input = given.tensor(0);
  const auto count = input ? elements(*input) : std::nullopt;
  if (!count) return std::nullopt;
  return moved(ByteSum().add(given, 0).add(given, 0).add(*count, 1));
}

}  // namespace hotlens::kernels
