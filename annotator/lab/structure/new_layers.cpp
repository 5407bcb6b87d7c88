#include "annotator/lab/structure/new_layers.h"

#include <algorithm>

#include "annotator/lab/structure/simple_layers.h"
#include "annotator/lab/structure/values.h"

namespace hotlens::layers {
namespace {

using lab::Operator;
using lab::TensorId;

std::size_t dimensions_of(const Value& layer) {
  return static_cast<std::size_t>(layer.layer[layer.layer.size() - 2] - '0');
}

class Writer {
 public:
  Writer(const Value& layer, const std::vector<TensorId>& tensors, TensorId in, const Operator& like, lab::Draft& draft)
      : layer_(layer), tensors_(tensors), in_(in), like_(like), draft_(draft) {}

  std::expected<Written, std::string> run() {
    const std::string& name = layer_.layer;
    written_.out = in_;
    if (name == "Identity") return written_;
    if (const Simple* plain = simple(name)) return one(*plain);
    if (name == "PReLU") call("aten::prelu", "", {tensor(in_), tensor(tensors_[0])});
    if (name == "Linear") call("aten::linear", "", {tensor(in_), tensor(tensors_[0]), optional(1)});
    if (name.starts_with("Conv")) return convolution();
    if (name.starts_with("BatchNorm")) return batch_norm();
    if (name == "LayerNorm" || name == "RMSNorm" || name == "GroupNorm") return norm();
    if (name == "LSTM" || name == "GRU") return recurrent();
    if (name.starts_with("MaxPool") || name.starts_with("AvgPool") || name.starts_with("AdaptiveAvgPool")) return pool();
    if (written_.operators.empty()) return unknown();
    return written_;
  }

 private:
  // Whether no dropout and no batch norm of the recorded step is in evaluation mode.
  bool trains() const {
    return std::ranges::none_of(draft_.program.operators, [](const Operator& op) {
      const bool drops = op.name.ends_with("dropout") && op.args.size() > 2 && op.args[2] == lab::Value{false};
      return drops || (op.name == "aten::batch_norm" && op.args.size() > 5 && op.args[5] == lab::Value{false});
    });
  }

  std::unexpected<std::string> unknown() const { return std::unexpected("what a new " + layer_.layer + " calls is not known"); }
  static lab::Value tensor(TensorId id) { return {lab::TensorRef{id}}; }
  lab::Value optional(std::size_t at) const { return at < tensors_.size() ? tensor(tensors_[at]) : lab::Value{}; }

  void call(std::string name, std::string overload, lab::Values args, std::size_t results = 1) {
    Operator& op = written_.operators.emplace_back(Operator{.name = std::move(name),
                                                            .overload = std::move(overload),
                                                            .args = std::move(args),
                                                            .kwargs = {},
                                                            .out = {},
                                                            .grad = like_.grad,
                                                            .autocast = like_.autocast,
                                                            .stage = like_.stage});
    for (std::size_t at = 0; at < results; ++at) {
      op.out.push_back(draft_.fresh());
      draft_.made.insert(op.out.back());
    }
    written_.out = op.out.front();
  }

  std::expected<Written, std::string> one(const Simple& what) {
    lab::Values args{tensor(in_)};
    for (const auto& [name, otherwise] : what.arguments) {
      const Ref given = argument(layer_, name);
      auto value = given ? plain_of(given) : std::optional(otherwise);
      if (!value || *value == required()) return std::unexpected("`" + std::string(name) + "` cannot be known");
      const auto* whole = std::get_if<lab::Whole>(&value->is);
      if (whole != nullptr && std::holds_alternative<double>(otherwise.is)) value = lab::Value{static_cast<double>(whole->offset)};
      args.push_back(*value);
    }
    if (what.layer.starts_with("Dropout") && !trains())
      return std::unexpected("whether it is switched off, as others are, cannot be known");
    if (what.layer.starts_with("Dropout")) args.push_back({true});
    const auto in_place = is_on(layer_, "inplace", false);
    if (!in_place) return std::unexpected("`inplace` cannot be known");
    call(std::string(what.op) + (*in_place ? "_" : ""), std::string(what.overload), std::move(args));
    if (*in_place) written_.operators.back().out = {written_.out = in_};
    if (what.layer == "GELU") {
      const Ref given = argument(layer_, "approximate");
      if (given && given->kind != Value::Kind::text) return std::unexpected("`approximate` cannot be known");
      if (given) written_.operators.back().kwargs.emplace_back("approximate", lab::Value{given->text});
    }
    return written_;
  }

  std::expected<Written, std::string> convolution() {
    if (layer_.layer.starts_with("ConvTranspose")) return unknown();
    const std::size_t dimensions = dimensions_of(layer_);
    const auto stride = list_of(argument(layer_, "stride"), dimensions, 1), padding = list_of(argument(layer_, "padding"), dimensions, 0);
    const auto dilation = list_of(argument(layer_, "dilation"), dimensions, 1);
    const Ref groups = argument(layer_, "groups");
    if (!stride || !padding || !dilation || (groups && !whole_of(groups)) || argument(layer_, "padding_mode")) return unknown();
    const TensorId weight = tensors_[0];
    call("aten::conv" + std::to_string(dimensions) + "d", "",
         {tensor(in_), tensor(weight), optional(1), *stride, *padding, *dilation, number(whole_of(groups).value_or(1))});
    return written_;
  }

  std::expected<double, std::string> real(std::string_view name, double otherwise) const {
    const Ref given = argument(layer_, name);
    if (!given) return otherwise;
    if (const auto value = real_of(*given)) return *value;
    return std::unexpected("`" + std::string(name) + "` cannot be known");
  }

  std::expected<Written, std::string> batch_norm() {
    const auto momentum = real("momentum", 0.1), epsilon = real("eps", 1e-5);
    const auto affine = is_on(layer_, "affine"), tracks = is_on(layer_, "track_running_stats");
    if (!momentum || !epsilon || !affine || !tracks || !trains()) return unknown();
    const std::size_t from = *affine ? 2 : 0;
    if (*tracks) {
      call("aten::add_", "Tensor", {tensor(tensors_.back()), number(1)});
      written_.operators.back().out = {tensors_.back()};
    }
    const auto weight = [&](std::size_t at) { return *affine ? tensor(tensors_[at]) : lab::Value{}; };
    const auto running = [&](std::size_t at) { return *tracks ? tensor(tensors_[from + at]) : lab::Value{}; };
    call("aten::batch_norm", "", {tensor(in_), weight(0), weight(1), running(0), running(1), {true}, {*momentum}, {*epsilon}, {true}});
    return written_;
  }

  std::expected<Written, std::string> norm() {
    const bool groups = layer_.layer == "GroupNorm";
    const auto first = groups ? plain_of(argument(layer_, "num_groups")) : list_of(argument(layer_, "normalized_shape"), 1, 0);
    if (!first) return unknown();
    lab::Values args{tensor(in_), *first, optional(0)};
    if (layer_.layer != "RMSNorm") args.push_back(optional(1));
    call(groups ? "aten::group_norm" : layer_.layer == "RMSNorm" ? "aten::rms_norm" : "aten::layer_norm", "", std::move(args));
    return written_;
  }

  // The zeros that it begins with take the batch from the tensor that goes in: their size is one that the recording has for its other
  // recurrent layers only, so there must be one.
  std::expected<Written, std::string> recurrent() {
    const auto layers = whole_of(argument(layer_, "num_layers")).value_or(1),
               hidden = whole_of(argument(layer_, "hidden_size")).value_or(0);
    const auto bias = is_on(layer_, "bias"), first = is_on(layer_, "batch_first", false), both = is_on(layer_, "bidirectional", false);
    const auto dropout = real("dropout", 0);
    const Operator* zeros = nullptr;
    for (const Operator& op : draft_.program.operators) {
      const bool states = op.name == "aten::zeros" && op.module != lab::kNoModule && !op.args.empty();
      const auto* sizes = states ? std::get_if<lab::Values>(&op.args[0].is) : nullptr;
      if (sizes != nullptr && sizes->size() == 3 && op.module == like_.module) zeros = &op;
    }
    if (!bias || !first || !both || !dropout || hidden <= 0 || zeros == nullptr)
      return std::unexpected("the state that a new " + layer_.layer + " begins with cannot be known");
    const Operator example = *zeros;
    const std::int64_t directions = *both ? 2 : 1;
    lab::Values states;
    for (int at = 0; at < (layer_.layer == "LSTM" ? 2 : 1); ++at) {
      lab::Values sizes = std::get<lab::Values>(example.args[0].is);
      sizes[0] = number(layers * directions);
      sizes[2] = number(hidden);
      call(example.name, example.overload, {lab::Value{sizes}});
      written_.operators.back().kwargs = example.kwargs;
      states.push_back(tensor(written_.out));
    }
    lab::Values weights;
    for (const TensorId id : tensors_) weights.push_back(tensor(id));
    const bool lstm = layer_.layer == "LSTM";
    call(lstm ? "aten::lstm" : "aten::gru", "input",
         {tensor(in_), lstm ? lab::Value{states} : states[0], {weights}, {*bias}, number(layers), {*dropout}, {true}, {*both}, {*first}},
         lstm ? 3 : 2);
    return written_;
  }

  std::expected<Written, std::string> pool() {
    const std::size_t dimensions = dimensions_of(layer_);
    const bool largest = layer_.layer.starts_with("Max");
    std::string name = "_pool" + std::to_string(dimensions) + "d";
    if (layer_.layer.starts_with("Adaptive")) {
      const auto sizes = list_of(argument(layer_, "output_size"), dimensions, 0);
      if (!argument(layer_, "output_size") || !sizes) return unknown();
      call("aten::adaptive_avg" + name, "", {tensor(in_), *sizes});
      return written_;
    }
    const Ref kernel = argument(layer_, "kernel_size"), stride = argument(layer_, "stride");
    const auto sizes = list_of(kernel, dimensions, 0), steps = list_of(stride ? stride : kernel, dimensions, 0);
    const auto padding = list_of(argument(layer_, "padding"), dimensions, 0);
    const auto up = is_on(layer_, "ceil_mode", false);
    const bool other = argument(layer_, "dilation") || argument(layer_, "return_indices") || argument(layer_, "count_include_pad");
    if (!kernel || !sizes || !steps || !padding || !up || other) return unknown();
    lab::Values args{tensor(in_), *sizes, *steps, *padding};
    if (largest) args.push_back(*list_of(nullptr, dimensions, 1));
    args.push_back({*up});
    call((largest ? "aten::max" : "aten::avg") + name, "", std::move(args));
    return written_;
  }

  const Value& layer_;
  const std::vector<TensorId>& tensors_;
  TensorId in_;
  Operator like_;
  lab::Draft& draft_;
  Written written_;
};

}  // namespace

std::expected<Written, std::string> write(const Value& layer, const std::vector<TensorId>& tensors, TensorId in, const Operator& like,
                                          lab::Draft& draft) {
  return Writer(layer, tensors, in, like, draft).run();
}

}  // namespace hotlens::layers
