#include <algorithm>

#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {
namespace {

// A setting of one number is meant for every dimension.
std::optional<std::int64_t> of_dimension(const std::optional<Shape>& setting, std::size_t dimension) {
  if (!setting || setting->empty()) return std::nullopt;
  if (setting->size() == 1) return setting->front();
  return dimension < setting->size() ? std::optional((*setting)[dimension]) : std::nullopt;
}

struct Settings {
  std::optional<Shape> stride, padding, dilation, more;  // more: what a transposed one adds to its result
};

std::optional<std::int64_t> length_after(const Settings& settings, std::size_t dimension, std::int64_t length, std::int64_t kernel,
                                         bool transposed) {
  const auto stride = of_dimension(settings.stride, dimension), padding = of_dimension(settings.padding, dimension),
             dilation = of_dimension(settings.dilation, dimension);
  constexpr std::int64_t kLongest = 1 << 30;
  if (!stride || !padding || !dilation || *stride <= 0 || std::max({*stride, *padding, *dilation, length, kernel}) > kLongest) return {};
  const std::int64_t reach = *dilation * (kernel - 1);
  if (!transposed) return (length + 2 * *padding - reach - 1) / *stride + 1;
  const auto more = of_dimension(settings.more, dimension);
  return more ? std::optional((length - 1) * *stride - 2 * *padding + reach + *more + 1) : std::nullopt;
}

// (images, channels, …) of the result.
std::optional<Shape> result_of(const Shape& input, const Shape& weight, const Settings& settings, bool transposed, std::int64_t groups) {
  Shape result = {input[0], transposed ? weight[1] * groups : weight[0]};
  for (std::size_t at = 2; at < input.size(); ++at) {
    const auto length = length_after(settings, at - 2, input[at], weight[at], transposed);
    if (!length || *length < 0) return std::nullopt;
    result.push_back(*length);
  }
  return result;
}

// Each element of the result (of the input, where transposed) meets a kernel's window of one group's channels.
std::optional<double> arithmetic(const Shape& meets, const Shape& weight) {
  const auto each = elements(meets), window = elements(weight);
  if (!each || !window || weight.front() <= 0) return std::nullopt;
  return 2 * *each * (*window / static_cast<double>(weight.front()));
}

}  // namespace

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
RuleResult convolution(const Arguments& given) {
  const Shape *input = given.tensor(0), *weight = given.tensor(1);
  const auto transposed = given.truth(6);
  const auto groups = given.integer(8);
  if (!input || !weight || !transposed || !groups || input->size() < 3 || input->size() != weight->size()) return std::nullopt;
  const Settings settings{given.numbers(3), given.numbers(4), given.numbers(5), given.numbers(7)};
  const auto result = result_of(*input, *weight, settings, *transposed, *groups);
  if (!result) return std::nullopt;
  const auto flops = arithmetic(*transposed ? *input : *result, *weight);
  const auto written = elements(*result);
  if (!flops || !written) return std::nullopt;
  ByteSum bytes;
  bytes.add_all(given).add(*written, given.at(0)->element_bytes);
  return Amount{*flops, bytes.sum()};
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask): the gradients of
// the input and of the weight take as much arithmetic as forward, each where it is wanted.
RuleResult convolution_backward(const Arguments& given) {
  const Shape *gradient = given.tensor(0), *input = given.tensor(1), *weight = given.tensor(2);
  const auto transposed = given.truth(7);
  const auto wanted = given.truths(10);
  if (!gradient || !input || !weight || !transposed || !wanted || wanted->size() < 2 || weight->size() < 3) return std::nullopt;
  const auto forward = arithmetic(*transposed ? *input : *gradient, *weight);
  if (!forward) return std::nullopt;
  ByteSum bytes;
  bytes.add(given, 0);
  if ((*wanted)[0]) bytes.add(given, 2).add(given, 1);
  if ((*wanted)[1]) bytes.add(given, 1).add(given, 2);
  return Amount{*forward * ((*wanted)[0] + (*wanted)[1]), bytes.sum()};
}

}  // namespace hotlens::kernels
