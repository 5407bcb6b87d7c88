// Layers of torch.nn that hold others, as their constructors make them (torch/nn/modules/activation.py and transformer.py); and copies.
#include <algorithm>
#include <array>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

std::optional<Shape> broadcast(const Shape& one, const Shape& other) {
  Shape all(std::max(one.size(), other.size()), 1);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const auto size = [&](const Shape& of) { return at + of.size() < all.size() ? 1 : of[at + of.size() - all.size()]; };
    if (size(one) != size(other) && size(one) != 1 && size(other) != 1) return std::nullopt;
    all[at] = size(one) == 1 ? size(other) : size(one);
  }
  return all;
}

}  // namespace

Ref Interpreter::part(const std::string& name, Arguments given, Node site) {
  const std::string layer = name == "NonDynamicallyQuantizableLinear" ? "Linear" : name;
  const Ref type = make({.kind = Kind::external, .text = "torch.nn." + name});
  Ref made = make({.kind = Kind::object, .node = site, .self = type, .given = std::move(given)});
  made->layer = layer;
  add_module(made);
  add_parts(made);
  return made;
}

void Interpreter::add_parts(const Ref& object) {
  const Node site = object->node;
  const auto given = [&](std::string_view name, const Ref& otherwise) {
    const Ref value = argument(*object, name);
    return value ? value : otherwise;
  };
  const auto add = [&](const char* name, const Ref& value) { set(object, name, value, site); };
  const auto layer = [&](const char* name, std::vector<Ref> with, std::vector<std::pair<std::string, Ref>> named = {}) {
    return part(name, {.positional = std::move(with), .named = std::move(named)}, site);
  };
  const std::string& name = object->layer;
  if (name == "MultiheadAttention") {
    const Ref width = given("embed_dim", unknown("embed_dim")), heads = given("num_heads", unknown("num_heads"));
    const Ref bias = given("bias", boolean_value(true));
    add("out_proj", layer("NonDynamicallyQuantizableLinear", {width, width}, {{"bias", bias}}));
    add("embed_dim", width);
    add("num_heads", heads);
    const bool known = width->kind == Kind::integer && heads->kind == Kind::integer && heads->integer > 0;
    if (known) add("head_dim", whole(width->integer / heads->integer));
    if (const auto rate = real_of(*given("dropout", real(0)))) add("dropout", real(*rate));
  }
  if (name == "TransformerEncoderLayer" || name == "TransformerDecoderLayer") {
    const bool decodes = name == "TransformerDecoderLayer";
    const Ref width = given("d_model", unknown("d_model")), heads = given("nhead", unknown("nhead"));
    const Ref hidden = given("dim_feedforward", whole(2048)), rate = given("dropout", real(0.1));
    const Ref first = given("batch_first", boolean_value(false)), bias = given("bias", boolean_value(true));
    const auto attention = [&] {
      return layer("MultiheadAttention", {width, heads}, {{"dropout", rate}, {"bias", bias}, {"batch_first", first}});
    };
    add("self_attn", attention());
    if (decodes) add("multihead_attn", attention());
    add("linear1", layer("Linear", {width, hidden}, {{"bias", bias}}));
    add("dropout", layer("Dropout", {rate}));
    add("linear2", layer("Linear", {hidden, width}, {{"bias", bias}}));
    constexpr std::array<const char*, 3> kNorms{"norm1", "norm2", "norm3"}, kDropouts{"dropout1", "dropout2", "dropout3"};
    const std::size_t blocks = decodes ? 3 : 2;
    for (std::size_t at = 0; at < blocks; ++at) add(kNorms[at], layer("LayerNorm", {width}));
    for (std::size_t at = 0; at < blocks; ++at) add(kDropouts[at], layer("Dropout", {rate}));
  }
  const auto at = [&](std::size_t place, std::string_view word) {
    const Ref value = named(object->given, word);
    return value ? value : place < object->given.positional.size() ? object->given.positional[place] : none();
  };
  if (name == "Transformer") {
    const auto or_else = [&](const Ref& value, const Ref& otherwise) { return value->kind == Kind::none ? otherwise : value; };
    const Ref width = or_else(at(0, "d_model"), whole(512)), heads = or_else(at(1, "nhead"), whole(8));
    const Ref hidden = or_else(at(4, "dim_feedforward"), whole(2048)), rate = or_else(at(5, "dropout"), real(0.1));
    std::vector<std::pair<std::string, Ref>> rest;
    constexpr std::array<std::pair<std::size_t, const char*>, 5> kRest{
        {{6, "activation"}, {9, "layer_norm_eps"}, {10, "batch_first"}, {11, "norm_first"}, {12, "bias"}}};
    for (const auto& [place, word] : kRest) {
      if (const Ref value = at(place, word); value->kind != Kind::none) rest.emplace_back(word, value);
    }
    if (at(7, "custom_encoder")->kind != Kind::none || at(8, "custom_decoder")->kind != Kind::none)
      return add("encoder", unknown("the layers of " + name));
    const auto stack = [&](const char* kind, const char* one, const Ref& count) {
      const Ref model = layer(one, {width, heads, hidden, rate}, rest);
      return layer(kind, {model, count, layer("LayerNorm", {width})});
    };
    add("encoder", stack("TransformerEncoder", "TransformerEncoderLayer", or_else(at(2, "num_encoder_layers"), whole(6))));
    add("decoder", stack("TransformerDecoder", "TransformerDecoderLayer", or_else(at(3, "num_decoder_layers"), whole(6))));
    add("d_model", width);
    add("nhead", heads);
  }
  if (name == "TransformerEncoder" || name == "TransformerDecoder") {
    const Ref model = at(0, name == "TransformerEncoder" ? "encoder_layer" : "decoder_layer"), count = at(1, "num_layers");
    const Ref norm = at(2, "norm");
    if (model->kind != Kind::object || count->kind != Kind::integer) return add("layers", unknown("the layers of " + name));
    std::vector<Ref> copies;
    for (std::int64_t copy = 0; copy < count->integer && spend(); ++copy) copies.push_back(deep_copy(model));
    const Ref list = part("ModuleList", {}, site);
    for (std::size_t copy = 0; copy < copies.size(); ++copy) set(list, std::to_string(copy), copies[copy], model->node);
    add("layers", list);
    if (norm->kind == Kind::object) add("norm", norm);
  }
}

// As copy.deepcopy makes it of a module. What was copied is no part of a step where no model holds it.
Ref Interpreter::deep_copy(const Ref& module, int depth) {
  copied_.insert(module);
  Ref made = make(*module);
  if (!made->layer.empty()) add_module(made);
  for (auto& [name, value] : made->attributes) {
    if (value->kind == Kind::object && !value->layer.empty() && depth < 50 && spend()) value = deep_copy(value, depth + 1);
  }
  return made;
}

// A tensor that is made in another shape: of `torch.zeros(100, 64).unsqueeze(0)`. Null: it is no such call.
Ref Interpreter::reshaped(const Ref& tensor, const std::string& name, const Arguments& given) {
  auto shape = made_shape(*tensor);
  if (!shape) return nullptr;
  constexpr std::array<std::string_view, 18> kThemselves{"float", "clone", "contiguous", "detach", "double", "to",
                                                         "long",  "cpu",   "cuda",       "cos",    "sin",    "exp",
                                                         "log",   "sqrt",  "abs",        "pow",    "rsqrt",  "reciprocal"};
  const bool in_place = name.ends_with('_') && !name.starts_with('_');  // `.normal_(std=0.02)`
  if (in_place || std::ranges::find(kThemselves, name) != kThemselves.end()) return tensor;
  std::vector<std::int64_t> places;
  const bool packed = given.positional.size() == 1 && given.positional[0]->kind == Kind::tuple;
  for (const Ref& one : packed ? given.positional[0]->items : given.positional) {
    if (one->kind != Kind::integer) return nullptr;
    places.push_back(one->integer);
  }
  const auto rank = std::ssize(*shape);
  const auto place = [&](std::int64_t at, std::int64_t more) { return at < 0 ? at + rank + more : at; };
  if (name == "unsqueeze" && places.size() == 1 && place(places[0], 1) >= 0 && place(places[0], 1) <= rank) {
    shape->insert(shape->begin() + place(places[0], 1), 1);
  } else if (name == "transpose" && places.size() == 2) {
    const std::int64_t one = place(places[0], 0), other = place(places[1], 0);
    if (one < 0 || other < 0 || one >= rank || other >= rank) return nullptr;
    std::swap((*shape)[static_cast<std::size_t>(one)], (*shape)[static_cast<std::size_t>(other)]);
  } else if (name == "expand" && std::ssize(places) >= rank) {
    for (std::ptrdiff_t at = 0; at < rank; ++at) {
      std::int64_t& size = places[places.size() - static_cast<std::size_t>(at) - 1];
      if (size < 0) size = (*shape)[static_cast<std::size_t>(rank - at) - 1];
    }
    if (std::ranges::any_of(places, [](std::int64_t one) { return one < 0; })) return nullptr;
    shape = places;
  } else if (name == "repeat" && std::ssize(places) >= rank && std::ranges::none_of(places, [](std::int64_t one) { return one < 0; })) {
    for (std::ptrdiff_t at = 0; at < rank; ++at)
      places[places.size() - static_cast<std::size_t>(at) - 1] *= (*shape)[static_cast<std::size_t>(rank - at) - 1];
    shape = places;
  } else if ((name == "view" || name == "reshape") && std::ranges::none_of(places, [](std::int64_t one) { return one < 0; })) {
    shape = places;
  } else {
    return nullptr;
  }
  return of_shape(*shape, tensor->node);
}

Ref Interpreter::of_shape(const std::vector<std::int64_t>& shape, Node site) {
  Ref made = make({.kind = Kind::object, .node = site, .self = make({.kind = Kind::external, .text = "torch.zeros"})}), sizes = list_of({});
  for (const std::int64_t size : shape) sizes->items.push_back(whole(size));
  sizes->kind = Kind::tuple;
  made->given = {.positional = {sizes}};
  return made;
}

// `1.0 / base ** (torch.arange(0, 64, 2) / 64)`: a tensor and a number, or two tensors. Null: it is no such arithmetic.
Ref Interpreter::combined(const Ref& left, const Ref& right) {
  const auto one = made_shape(*left), other = made_shape(*right);
  if (one && real_of(*right)) return of_shape(*one, left->node);
  if (other && real_of(*left)) return of_shape(*other, right->node);
  const auto both = one && other ? broadcast(*one, *other) : std::nullopt;
  return both ? of_shape(*both, left->node) : nullptr;
}

// `torch.cat([a, b], dim=-1)`, `torch.stack([a, b])`. Null: not all shapes are known.
Ref Interpreter::joined(bool stacks, const Arguments& given, Node site) {
  const Ref dim = given.positional.size() > 1 ? given.positional[1] : hotlens::layers::named(given, "dim");
  const auto parts = entries(given.positional[0]);
  if (!parts || parts->empty() || (dim && dim->kind != Kind::integer)) return nullptr;
  auto all = made_shape(*parts->front());
  const std::int64_t rank = all ? std::ssize(*all) + (stacks ? 1 : 0) : 0, written = dim ? dim->integer : 0;
  const std::int64_t place = written < 0 ? written + rank : written;
  if (!all || place < 0 || place >= rank) return nullptr;
  std::int64_t length = 0;
  for (const Ref& part : *parts) {
    const auto shape = made_shape(*part);
    if (!shape || shape->size() != all->size()) return nullptr;
    length += stacks ? 1 : (*shape)[static_cast<std::size_t>(place)];
  }
  if (stacks) all->insert(all->begin() + place, length);
  if (!stacks) (*all)[static_cast<std::size_t>(place)] = length;
  return of_shape(*all, site);
}

// What torch's functions make in a constructor of tensors whose shapes are known. Null: it is no such call.
Ref Interpreter::of_tensors(const std::string& name, const Arguments& given, Node site) {
  if (constructing_ == 0 || !name.starts_with("torch.")) return nullptr;
  constexpr std::array<std::string_view, 9> kEach{"cos", "sin", "exp", "log", "sqrt", "rsqrt", "abs", "pow", "tanh"};
  constexpr std::array<std::string_view, 6> kLike{"zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "empty_like"};
  const std::string last = name.substr(std::string_view("torch.").size());
  const auto& with = given.positional;
  if ((last == "cat" || last == "stack") && !with.empty()) return joined(last == "stack", given, site);
  const auto shape = with.empty() ? std::nullopt : made_shape(*with[0]);
  if (!shape) return nullptr;
  const auto second = with.size() > 1 ? made_shape(*with[1]) : std::nullopt;
  if (std::ranges::find(kEach, last) != kEach.end() || std::ranges::find(kLike, last) != kLike.end()) return of_shape(*shape, site);
  if (last == "polar" && second && *second == *shape) return of_shape(*shape, site);
  if (last == "outer" && second && shape->size() == 1 && second->size() == 1) return of_shape({(*shape)[0], (*second)[0]}, site);
  return nullptr;
}

// `table[: n // 2]`, `table[:, None]`: null where it is no tensor of a known shape, or no such part.
Ref Interpreter::part_of_tensor(const Ref& tensor, Node subscript, Frame& frame) {
  const auto shape = made_shape(*tensor);
  if (!shape) return nullptr;
  std::vector<std::int64_t> now;
  std::size_t at = 0;
  auto parts = subscript.children();
  parts.erase(parts.begin());  // the tensor
  for (const Node& part : parts) {
    if (part.is("none")) {
      now.push_back(1);
      continue;
    }
    if (at >= shape->size()) return nullptr;
    const std::int64_t size = (*shape)[at++];
    if (!part.is("slice")) {
      if (expression(part, frame)->kind != Kind::integer) return nullptr;
      continue;
    }
    const auto bounds = bounds_of(part, size, frame);
    if (!bounds) return nullptr;
    now.push_back(std::max<std::int64_t>(bounds->second - bounds->first, 0));
  }
  now.insert(now.end(), shape->begin() + static_cast<std::ptrdiff_t>(at), shape->end());
  return of_shape(now, subscript);
}

}  // namespace hotlens::layers
