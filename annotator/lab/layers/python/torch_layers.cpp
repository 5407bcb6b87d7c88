#include "annotator/lab/layers/python/torch_layers.h"

#include <algorithm>
#include <array>

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
using Names = std::vector<std::string_view>;

struct Constructor {
  std::string_view layer;
  Names parameters;
};

const std::vector<Constructor>& constructors() {
  static const Names conv{"in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias", "padding_mode"};
  static const Names transposed{"in_channels",    "out_channels", "kernel_size", "stride",  "padding",
                                "output_padding", "groups",       "bias",        "dilation"};
  static const Names norm{"num_features", "eps", "momentum", "affine", "track_running_stats"};
  static const Names recurrent{"input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"};
  static const Names cell{"input_size", "hidden_size", "bias"};
  static const Names transformer{"d_model",        "nhead",       "dim_feedforward", "dropout", "activation",
                                 "layer_norm_eps", "batch_first", "norm_first",      "bias"};
  static const Names max_pool{"kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"};
  static const Names average_pool{"kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"};
  static const std::vector<Constructor> all{
      {"Linear", {"in_features", "out_features", "bias"}},
      {"Conv1d", conv},
      {"Conv2d", conv},
      {"Conv3d", conv},
      {"ConvTranspose1d", transposed},
      {"ConvTranspose2d", transposed},
      {"ConvTranspose3d", transposed},
      {"BatchNorm1d", norm},
      {"BatchNorm2d", norm},
      {"BatchNorm3d", norm},
      {"InstanceNorm1d", norm},
      {"InstanceNorm2d", norm},
      {"GroupNorm", {"num_groups", "num_channels", "eps", "affine"}},
      {"LayerNorm", {"normalized_shape", "eps", "elementwise_affine", "bias"}},
      {"RMSNorm", {"normalized_shape", "eps", "elementwise_affine"}},
      {"Embedding", {"num_embeddings", "embedding_dim", "padding_idx"}},
      {"EmbeddingBag", {"num_embeddings", "embedding_dim"}},
      {"Dropout", {"p", "inplace"}},
      {"Dropout1d", {"p", "inplace"}},
      {"Dropout2d", {"p", "inplace"}},
      {"Bilinear", {"in1_features", "in2_features", "out_features", "bias"}},
      {"LSTM", recurrent},
      {"GRU", recurrent},
      {"RNN", {"input_size", "hidden_size", "num_layers", "nonlinearity", "bias", "batch_first", "dropout", "bidirectional"}},
      {"LSTMCell", cell},
      {"GRUCell", cell},
      {"RNNCell", cell},
      {"MaxPool1d", max_pool},
      {"MaxPool2d", max_pool},
      {"AvgPool1d", average_pool},
      {"AvgPool2d", average_pool},
      {"AdaptiveAvgPool1d", {"output_size"}},
      {"AdaptiveAvgPool2d", {"output_size"}},
      {"MultiheadAttention", {"embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim", "batch_first"}},
      {"TransformerEncoderLayer", transformer},
      {"TransformerDecoderLayer", transformer},
      {"ReLU", {"inplace"}},
      {"PReLU", {"num_parameters", "init"}},
      {"Softplus", {"beta", "threshold"}},
      {"Softmax", {"dim"}},
      {"LogSoftmax", {"dim"}},
      {"Hardsigmoid", {"inplace"}},
      {"Mish", {"inplace"}},
      {"ReLU6", {"inplace"}},
      {"SiLU", {"inplace"}},
      {"Hardswish", {"inplace"}},
      {"LeakyReLU", {"negative_slope", "inplace"}},
      {"ELU", {"alpha", "inplace"}},
      {"GELU", {"approximate"}},
      {"Flatten", {"start_dim", "end_dim"}},
      {"CrossEntropyLoss", {"weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"}}};
  return all;
}

std::optional<std::int64_t> whole_of(const Ref& value) {
  if (!value || (value->kind != Kind::integer && value->kind != Kind::boolean)) return std::nullopt;
  return value->integer;
}

std::optional<std::int64_t> number(const Value& layer, std::string_view name, std::optional<std::int64_t> otherwise = std::nullopt) {
  const Ref value = argument(layer, name);
  return value ? whole_of(value) : otherwise;
}

// `3` or `(3, 3)`, as many as the layer has dimensions.
std::optional<Shape> sizes(const Ref& value, std::size_t dimensions) {
  if (const auto one = whole_of(value)) return Shape(dimensions, *one);
  if (!value || (value->kind != Kind::tuple && value->kind != Kind::list) || (dimensions != 0 && value->items.size() != dimensions))
    return std::nullopt;
  Shape all;
  for (const Ref& item : value->items) {
    const auto one = whole_of(item);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

std::optional<Shape> of_convolution(const Value& layer, std::string_view tensor) {
  const auto in = number(layer, "in_channels"), out = number(layer, "out_channels"), groups = number(layer, "groups", 1);
  const auto kernel = sizes(argument(layer, "kernel_size"), static_cast<std::size_t>(layer.layer[layer.layer.size() - 2] - '0'));
  if (!in || !out || !groups || !kernel || *groups <= 0) return std::nullopt;
  if (tensor == "bias") return Shape{*out};
  const bool transposed = layer.layer.starts_with("ConvTranspose");
  Shape weight = transposed ? Shape{*in, *out / *groups} : Shape{*out, *in / *groups};
  weight.insert(weight.end(), kernel->begin(), kernel->end());
  return tensor == "weight" ? std::optional(weight) : std::nullopt;
}

// weight_ih_l0, bias_hh_l1_reverse; of a cell weight_ih, bias_hh.
std::optional<Shape> of_recurrent(const Value& layer, std::string_view tensor) {
  const auto input = number(layer, "input_size"), hidden = number(layer, "hidden_size"), both = number(layer, "bidirectional", 0);
  if (!input || !hidden || !both || argument(layer, "proj_size")) return std::nullopt;
  const std::int64_t rows = *hidden * (layer.layer.starts_with("LSTM") ? 4 : layer.layer.starts_with("GRU") ? 3 : 1);
  if (tensor.starts_with("bias_")) return Shape{rows};
  if (tensor.starts_with("weight_hh")) return Shape{rows, *hidden};
  const bool first = tensor == "weight_ih" || tensor.starts_with("weight_ih_l0");
  return Shape{rows, first ? *input : *hidden * (1 + *both)};
}

std::optional<Shape> vector_of(const Value& layer, std::string_view name) {
  const auto length = number(layer, name);
  return length ? std::optional(Shape{*length}) : std::nullopt;
}

// Of `torch.arange(n)`, `torch.arange(begin, end, step)`.
std::optional<Shape> counted(const std::vector<Ref>& given) {
  if (given.empty() || given.size() > 3 || !std::ranges::all_of(given, [](const Ref& one) { return one->kind == Kind::integer; }))
    return std::nullopt;
  const std::int64_t begin = given.size() > 1 ? given[0]->integer : 0, end = given[given.size() > 1 ? 1 : 0]->integer;
  const std::int64_t step = given.size() > 2 ? given[2]->integer : 1;
  if (step <= 0 || end < begin) return std::nullopt;
  return Shape{(end - begin + step - 1) / step};
}

std::optional<Shape> length_of(const Ref& length) {
  return length && length->kind == Kind::integer ? std::optional(Shape{length->integer}) : std::nullopt;
}

// Of `torch.tensor([[1.0, 0.0], [0.0, 1.0]])`.
std::optional<Shape> nested(const Value& value) {
  if (real_of(value)) return Shape{};
  if ((value.kind != Kind::list && value.kind != Kind::tuple) || value.items.empty()) return std::nullopt;
  auto inside = nested(*value.items[0]);
  if (inside) inside->insert(inside->begin(), std::ssize(value.items));
  return inside;
}

}  // namespace

bool is_recurrent(std::string_view layer) {
  return layer == "LSTM" || layer == "GRU" || layer == "RNN";
}

bool is_container(std::string_view layer) {
  constexpr std::array<std::string_view, 7> kContainers{"Module",      "Sequential",         "ModuleList",        "ModuleDict",
                                                        "Transformer", "TransformerEncoder", "TransformerDecoder"};
  return std::ranges::find(kContainers, layer) != kContainers.end();
}

std::optional<Shape> made_shape(const Value& made) {
  if (made.kind == Kind::list && made.self) return Shape{std::ssize(made.items)};  // `torch.linspace(0, 1, n)`, whose numbers are known
  if (made.kind != Kind::object || !made.self) return std::nullopt;
  constexpr std::array<std::string_view, 7> kFactories{"torch.zeros", "torch.ones",   "torch.randn",      "torch.rand",
                                                       "torch.empty", "torch.Tensor", "torch.FloatTensor"};
  const std::string& name = made.self->text;
  const auto& given = made.given.positional;
  const Ref size = named(made.given, "size"), first = given.empty() ? size : given[0];
  if (name == "torch.arange") return counted(given);
  if (name == "torch.linspace" || name == "torch.logspace") return length_of(given.size() > 2 ? given[2] : named(made.given, "steps"));
  if (!first) return std::nullopt;
  if (name == "torch.tril" || name == "torch.triu") return made_shape(*first);
  if (name == "torch.tensor") return nested(*first);
  if (name.starts_with("torch.") && name.ends_with("_window")) return length_of(first);
  if (name == "torch.eye") {
    const auto rows = length_of(first), columns = length_of(given.size() > 1 ? given[1] : first);
    return rows && columns ? std::optional(Shape{rows->front(), columns->front()}) : std::nullopt;
  }
  const bool filled = name == "torch.full", factory = std::ranges::find(kFactories, name) != kFactories.end();
  if (!filled && !factory) return std::nullopt;
  if (filled || (given.size() <= 1 && first->kind != Kind::integer)) return sizes(first, 0);
  Value all{.kind = Kind::tuple, .items = given};
  return sizes(&all, 0);
}

std::span<const std::string_view> constructor_parameters(std::string_view layer) {
  const auto found = std::ranges::find(constructors(), layer, &Constructor::layer);
  return found == constructors().end() ? std::span<const std::string_view>() : std::span(found->parameters);
}

bool follows(const Value& layer, std::string_view parameter) {
  constexpr std::array<std::string_view, 18> kFollowed{"in1_features",   "in2_features",  "in_features", "out_features", "in_channels",
                                                       "out_channels",   "kernel_size",   "stride",      "padding",      "dilation",
                                                       "groups",         "num_features",  "num_groups",  "num_channels", "normalized_shape",
                                                       "num_embeddings", "embedding_dim", "input_size"};
  constexpr std::array<std::string_view, 4> kNumbers{"hidden_size", "p", "eps", "momentum"};
  const bool recurrent = is_recurrent(layer.layer);
  if (layer.layer.find("Pool") != std::string::npos) return false;
  constexpr std::array<std::string_view, 6> kWidths{"embed_dim", "num_heads", "d_model", "nhead", "dim_feedforward", "dropout"};
  const bool attends = layer.layer == "MultiheadAttention" || layer.layer.starts_with("Transformer");
  if (attends) return std::ranges::find(kWidths, parameter) != kWidths.end();
  return std::ranges::find(kFollowed, parameter) != kFollowed.end() || std::ranges::find(kNumbers, parameter) != kNumbers.end() ||
         (recurrent && parameter == "dropout");
}

bool is_exchanged(const Value& was, const Value& is) {
  if (was.layer != is.layer || was.self->kind != Kind::external) return false;
  return std::ranges::any_of(constructor_parameters(is.layer), [&](std::string_view name) {
    return !follows(is, name) && written_argument(was, name) != written_argument(is, name);
  });
}

Ref argument(const Value& layer, std::string_view name) {
  for (const auto& [one, value] : layer.given.named) {
    if (one == name) return value;
  }
  const auto parameters = constructor_parameters(layer.layer);
  const auto at = static_cast<std::size_t>(std::ranges::find(parameters, name) - parameters.begin());
  return at < parameters.size() && at < layer.given.positional.size() ? layer.given.positional[at] : nullptr;
}

std::string shown(const Value& layer) {
  std::string all;
  const auto parameters = constructor_parameters(layer.layer);
  for (std::size_t at = 0; at < parameters.size() && at < 2; ++at) {
    const auto value = argument(layer, parameters[at]);
    if (value) all += (all.empty() ? "" : ", ") + written(*value);
  }
  const std::string& name = layer.self->text;
  return name.substr(name.rfind('.') + 1) + "(" + all + ")";
}

std::string written_argument(const Value& layer, std::string_view name) {
  const Ref given = argument(layer, name);
  return given ? written(*given) : name == "bias" ? "True" : "";
}

std::string shown_change(const Value& was, const Value& is) {
  const auto parameters = constructor_parameters(is.layer);
  const auto told = [](const std::string& text) { return text.empty() ? "default" : text; };
  std::string all;
  for (const std::string_view name : parameters) {
    if (!argument(was, name) && !argument(is, name)) continue;
    const std::string from = written_argument(was, name), to = written_argument(is, name);
    const bool both = argument(was, name) && argument(is, name);
    const bool positional = name == parameters[0] || (both && parameters.size() > 1 && name == parameters[1]) || name == "kernel_size";
    all += (all.empty() ? "" : ", ") + (positional ? "" : std::string(name) + "=") + told(from) + (from == to ? "" : " → " + told(to));
  }
  const std::string& name = is.self->text;
  return name.substr(name.rfind('.') + 1) + "(" + all + ")";
}

std::optional<Shape> shape_of(const Value& layer, std::string_view tensor) {
  const std::string_view name = layer.layer;
  for (const auto& [one, value] : layer.attributes) {
    const bool held = one == tensor && value->kind == Kind::object && value->layer.empty() && value->self;
    const bool wrapped = held && (value->self->text.ends_with("Parameter") || value->self->text.ends_with("Buffer"));
    if (wrapped && !value->given.positional.empty()) return made_shape(*value->given.positional[0]);
    if (held && made_shape(*value)) return made_shape(*value);
  }
  if (tensor == "num_batches_tracked") return Shape{};
  if (name == "Linear") {
    const auto in = number(layer, "in_features"), out = number(layer, "out_features");
    if (!in || !out) return std::nullopt;
    return tensor == "weight" ? Shape{*out, *in} : Shape{*out};
  }
  if (name == "Bilinear") {
    const auto one = number(layer, "in1_features"), other = number(layer, "in2_features"), out = number(layer, "out_features");
    if (!one || !other || !out) return std::nullopt;
    return tensor == "weight" ? Shape{*out, *one, *other} : Shape{*out};
  }
  if (name == "PReLU") return Shape{number(layer, "num_parameters", 1).value_or(0)};
  if (name.starts_with("Conv")) return of_convolution(layer, tensor);
  if (name.starts_with("BatchNorm") || name.starts_with("InstanceNorm")) return vector_of(layer, "num_features");
  if (name == "GroupNorm") return vector_of(layer, "num_channels");
  if (name == "LayerNorm" || name == "RMSNorm") {
    const Ref shape = argument(layer, "normalized_shape");
    return shape ? sizes(shape, shape->kind == Kind::integer ? 1 : 0) : std::nullopt;
  }
  if (name.starts_with("Embedding")) {
    const auto rows = number(layer, "num_embeddings"), width = number(layer, "embedding_dim");
    return rows && width && tensor == "weight" ? std::optional(Shape{*rows, *width}) : std::nullopt;
  }
  if (is_recurrent(name) || name.ends_with("Cell")) return of_recurrent(layer, tensor);
  if (name == "MultiheadAttention") {
    const auto width = number(layer, "embed_dim");
    if (!width || argument(layer, "kdim") || argument(layer, "vdim") || argument(layer, "add_bias_kv")) return std::nullopt;
    return tensor == "in_proj_weight" ? std::optional(Shape{3 * *width, *width})
           : tensor == "in_proj_bias" ? std::optional(Shape{3 * *width})
                                      : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
