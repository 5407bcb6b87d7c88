#include "annotator/lab/structure/simple_layers.h"

#include <algorithm>
#include <string>

#include "annotator/lab/structure/values.h"

namespace hotlens::layers {
namespace {

const std::vector<Simple>& all_simple() {
  static const std::vector<Simple> all{{"ReLU", "aten::relu", "", {}},
                                       {"GELU", "aten::gelu", "", {}},
                                       {"SiLU", "aten::silu", "", {}},
                                       {"Tanh", "aten::tanh", "", {}},
                                       {"Sigmoid", "aten::sigmoid", "", {}},
                                       {"Hardswish", "aten::hardswish", "", {}},
                                       {"Hardsigmoid", "aten::hardsigmoid", "", {}},
                                       {"Mish", "aten::mish", "", {}},
                                       {"ReLU6", "aten::relu6", "", {}},
                                       {"LeakyReLU", "aten::leaky_relu", "", {{"negative_slope", {0.01}}}},
                                       {"ELU", "aten::elu", "", {{"alpha", {1.0}}}},
                                       {"Softplus", "aten::softplus", "", {{"beta", {1.0}}, {"threshold", {20.0}}}},
                                       {"Softmax", "aten::softmax", "int", {{"dim", required()}}},
                                       {"LogSoftmax", "aten::log_softmax", "int", {{"dim", required()}}},
                                       {"Flatten", "aten::flatten", "using_ints", {{"start_dim", number(1)}, {"end_dim", number(-1)}}},
                                       {"Dropout", "aten::dropout", "", {{"p", {0.5}}}},
                                       {"Dropout1d", "aten::feature_dropout", "", {{"p", {0.5}}}},
                                       {"Dropout2d", "aten::feature_dropout", "", {{"p", {0.5}}}}};
  return all;
}

}  // namespace

lab::Value required() {
  return {std::string("…")};
}

const Simple* simple(std::string_view layer) {
  const auto found = std::ranges::find(all_simple(), layer, &Simple::layer);
  return found == all_simple().end() ? nullptr : &*found;
}

}  // namespace hotlens::layers
