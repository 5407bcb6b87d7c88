#include "annotator/lab/edited/rewrite.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/structure/structure.h"
#include "annotator/lab/structure/values.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
using lab::Operator;
using lab::Program;
using lab::Tensor;
using lab::TensorKind;

Shape shape_of(const Tensor& tensor) {
  Shape shape;
  for (const lab::Whole& size : tensor.shape) shape.push_back(size.offset);
  return shape;
}

std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

void set(Operator& op, std::size_t at, lab::Value value) {
  if (op.args.size() <= at) op.args.resize(at + 1);
  op.args[at] = std::move(value);
}

// Numbers of a module's own; of the objects (a configuration) that it holds those that it has none of.
void add_numbers(const layers::Value& was, const layers::Value& is, lab::Numbers& to, int depth) {
  const auto each = [&](const auto& what) {
    for (const auto& [name, value] : was.attributes) {
      if (const Ref now = attribute_of(is, name)) what(*value, *now);
    }
  };
  each([&](const layers::Value& one, const layers::Value& now) {
    if (one.kind == Kind::integer && now.kind == Kind::integer) to.emplace_back(one.integer, now.integer);
  });
  lab::Numbers inside;
  each([&](const layers::Value& one, const layers::Value& now) {
    const bool holder = one.kind == Kind::object && one.layer.empty() && now.kind == Kind::object;
    if (holder && depth < 2) add_numbers(one, now, inside, depth + 1);
  });
  std::erase_if(inside, [&](const auto& one) { return std::ranges::find(to, one.first, &lab::Numbers::value_type::first) != to.end(); });
  to.insert(to.end(), inside.begin(), inside.end());
}

// Half of a number where its class, or a function that gets it, takes half of it: `half = self.width // 2` of sines and cosines of a time.
void add_halves(const layers::Value& was, const layers::Value& is, lab::Numbers& to) {
  if (was.self == nullptr || was.self->kind != Kind::type) return;
  const auto halves = [](std::string_view text, const std::string& name) { return text.find(name + " // 2") != std::string_view::npos; };
  for (const auto& [name, value] : was.attributes) {
    const Ref now = attribute_of(is, name);
    if (value->kind != Kind::integer || !now || now->kind != Kind::integer) continue;
    bool found = halves(was.self->node.text(), "self." + name);
    source::walk(was.self->node, [&](Node node) {
      if (!node.is("attribute") || node.text() != "self." + name) return true;
      const Node function = function_given(node);
      const auto parameter = function ? parameter_for(node, function) : Node{};
      found = found || (parameter && halves(function.text(), std::string(parameter.text())));
      return false;
    });
    if (found) to.emplace_back(value->integer / 2, now->integer / 2);
  }
}

// Numbers of the modules that it holds, where its class asks for them: `self.decoder.width`.
void add_numbers_below(const layers::Value& was, const layers::Value& is, lab::Numbers& to) {
  if (was.self == nullptr || was.self->kind != Kind::type) return;
  const std::string_view text = was.self->node.text();
  for (const auto& [child, value] : was.attributes) {
    const Ref now = attribute_of(is, child);
    if (!is_module(value) || !now || !is_module(now)) continue;
    for (const auto& [name, number] : value->attributes) {
      const Ref other = attribute_of(*now, name);
      const bool whole = number->kind == Kind::integer && other && other->kind == Kind::integer;
      if (whole && text.find("self." + child + "." + name) != std::string_view::npos) to.emplace_back(number->integer, other->integer);
    }
  }
}

// Whether a class, or one that it derives from, cuts or pads tensors by an attribute.
bool cuts_by(const layers::Value& type, const std::string& attribute) {
  bool found = false;
  source::walk(type.node, [&](Node node) {
    found = found || (node.is("attribute") && node.text() == attribute && is_cut(node));
    return !found;
  });
  return found || std::ranges::any_of(type.items, [&](const Ref& base) { return base->kind == Kind::type && cuts_by(*base, attribute); });
}

lab::Numbers attention_of(const layers::Value& was, const layers::Value& is) {
  lab::Numbers all;
  for (const char* name : {"num_heads", "head_dim"}) {
    const auto one = whole_of(attribute_of(was, name)), other = whole_of(attribute_of(is, name));
    if (one && other) all.emplace_back(*one, *other);
  }
  return all;
}

// What numbers that were `recorded` are now: those of a module, and of a configuration that it holds.
void add_rates(const layers::Value& was, const layers::Value& is, double recorded, std::set<double>& to, int depth) {
  for (const auto& [name, value] : was.attributes) {
    const Ref now = attribute_of(is, name);
    if (!now) continue;
    const auto one = real_of(*value), other = real_of(*now);
    if (one && other && *one == recorded) to.insert(*other);
    const bool holder = value->kind == Kind::object && value->layer.empty() && now->kind == Kind::object;
    if (holder && depth < 2) add_rates(*value, *now, recorded, to, depth + 1);
  }
}

// A tensor that the module makes itself, and makes as before. What a layer of torch.nn is given from outside (`embed.weight = head.weight`)
// has the shape that the layer is made for.
bool is_same(const layers::Value& was, const layers::Value& is, const std::string& name) {
  if (is.self != nullptr && is.self->kind == Kind::external) return false;
  const Ref one = attribute_of(was, name), other = attribute_of(is, name);
  return one && other && written(*one) == written(*other);
}

class Rewriting {
 public:
  Rewriting(Program program, const Changes& changes) : changes_(changes), program_(std::move(program)) {}

  std::expected<Rewritten, Unclear> run() {
    for (const Change& change : changes_.changes) {
      if (auto why = check(change)) return std::unexpected(*why);
    }
    std::vector<lab::TensorId> recorded;
    if (!changes_.alignment.gaps.empty()) {
      auto finished = restructure(std::move(program_), changes_);
      if (!finished) return std::unexpected(finished.error());
      program_ = std::move(finished->program);
      recorded = std::move(finished->recorded);
    }
    if (auto why = resize()) return std::unexpected(*why);
    for (const Change& change : changes_.changes) {
      if (auto why = change_operators(change)) return std::unexpected(*why);
    }
    Rewritten made{.program = {}, .numbers = {}, .cuts = {}, .attention = {}, .recorded = std::move(recorded)};
    for (const std::string& path : program_.modules) {
      lab::Numbers& own = made.numbers.emplace_back();
      const auto was = changes_.was.find(path), is = changes_.is.find(path);
      lab::Numbers &cuts = made.cuts.emplace_back(), &attention = made.attention.emplace_back();
      if (was == changes_.was.end() || is == changes_.is.end()) continue;
      add_numbers(*was->second, *is->second, own, 0);
      add_numbers_below(*was->second, *is->second, own);
      add_halves(*was->second, *is->second, own);
      cuts = cuts_of(*was->second, *is->second);
      if (was->second->layer == "MultiheadAttention") attention = attention_of(*was->second, *is->second);
    }
    made.numbers.push_back(changes_.script);
    add_numbers(*changes_.was.at(""), *changes_.is.at(""), made.numbers.back(), 0);  // of methods that the script calls beside `forward`
    made.program = std::move(program_);
    return made;
  }

 private:
  lab::Numbers cuts_of(const layers::Value& was, const layers::Value& is) {
    lab::Numbers all;
    if (was.self == nullptr || was.self->kind != Kind::type) return all;
    for (const auto& [name, value] : was.attributes) {
      const auto one = whole_of(value), other = whole_of(attribute_of(is, name));
      if (!one || !other) continue;
      const auto [known, is_new] = cuts_.try_emplace({was.self, name});
      if (is_new) known->second = cuts_by(*was.self, "self." + name);
      if (known->second) all.emplace_back(*one, *other);
    }
    return all;
  }

  static Unclear unclear(const Change& change, std::string reason) {
    return {.reason = std::move(reason), .module = change.path, .at = change.at};
  }

  std::optional<Unclear> check(const Change& change) const {
    for (const std::string_view name : constructor_parameters(change.is->layer)) {
      const Ref was = argument(*change.was, name), is = argument(*change.is, name);
      const bool same = was == is || (was && is && written(*was) == written(*is));
      if (!same && !follows(*change.is, name)) return unclear(change, "what another `" + std::string(name) + "` changes is not followed");
      const bool padded =
          argument(*change.is, "padding_mode") != nullptr && (name == "kernel_size" || name == "padding" || name == "dilation");
      if (!same && padded) return unclear(change, "what another `" + std::string(name) + "` changes beside `padding_mode` is not followed");
      const bool begins = !same && change.is->layer == "MultiheadAttention" && name == "dropout" && (!was || written(*was) == "0");
      if (begins) return unclear(change, "where it begins to drop is not followed");
      const auto size = whole_of(is);
      if (!same && size && (*size < 0 || (*size == 0 && name != "padding" && name != "p")))
        return unclear(change, "`" + std::string(name) + "` is " + std::to_string(*size));
    }
    return std::nullopt;
  }

  // Of every parameter and buffer; gradients and states of the optimizer follow theirs.
  std::optional<Unclear> resize() {
    std::map<std::string, std::pair<Shape, Shape>, std::less<>> shapes;
    for (const Tensor& tensor : program_.tensors) {
      if (tensor.kind != TensorKind::parameter && tensor.kind != TensorKind::buffer) continue;
      const auto [path, leaf] = lab::split_name(tensor.name);
      const auto changed = std::ranges::find(changes_.changes, path, &Change::path);
      if (changed == changes_.changes.end()) continue;
      if (is_same(*changed->was, *changed->is, leaf)) continue;
      const auto was = layers::shape_of(*changed->was, leaf), is = layers::shape_of(*changed->is, leaf);
      if (!was || !is || *was != shape_of(tensor)) return unclear(*changed, "the shape of its `" + leaf + "` cannot be known");
      if (product(*is) <= 0 && product(*was) > 0) return unclear(*changed, "its `" + leaf + "` would be empty");
      shapes.try_emplace(tensor.name, *was, *is);
    }
    for (Tensor& tensor : program_.tensors) {
      const auto found = shapes.find(lab::owner_of(tensor.name));
      const bool follows = found != shapes.end() && tensor.kind != TensorKind::input && shape_of(tensor) == found->second.first;
      if (!follows || found->second.first == found->second.second) continue;
      const std::int64_t count = product(found->second.first);
      const auto sharing = std::ranges::count(program_.tensors, tensor.storage, &Tensor::storage);
      if (count <= 0 || tensor.offset.offset != 0 || tensor.storage_bytes.offset % count != 0 || sharing != 1)
        return Unclear{.reason = "`" + tensor.name + "` shares its memory with other tensors",
                       .module = lab::split_name(std::string(found->first)).first};
      lab::shape(tensor, found->second.second);
    }
    return std::nullopt;
  }

  std::optional<Unclear> change_operators(const Change& change) {
    bool called = false;
    for (Operator& op : program_.operators) {
      if (op.module == lab::kNoModule || program_.modules[op.module] != change.path || !lab::computes(op)) continue;
      called = true;
      if (op.kind == lab::OperatorKind::function) return unclear(change, "it works in a custom autograd function");
      if (auto why = change_arguments(change, op)) return why;
    }
    if (!called && change.is->layer.starts_with("Dropout")) change_rate_of_holder(change);
    return std::nullopt;
  }

  // `scaled_dot_product_attention(…, dropout_p=self.dropout.p)`: of a layer that is not called itself.
  void change_rate_of_holder(const Change& change) {
    const auto rate = [](const layers::Value& layer) {
      const Ref p = argument(layer, "p");
      return p == nullptr ? std::optional(0.5) : real_of(*p);
    };
    const auto was = rate(*change.was), is = rate(*change.is);
    const std::string holder = lab::split_name(change.path).first;
    for (Operator& op : program_.operators) {
      if (op.module == lab::kNoModule || program_.modules[op.module] != holder || !was || !is) continue;
      lab::Value* recorded = rate_of(op);
      const auto* number = recorded == nullptr ? nullptr : std::get_if<double>(&recorded->is);
      if (number != nullptr && *number == *was) recorded->is = *is;
    }
  }

  // What a dropout drops; null: the operator drops nothing.
  static lab::Value* rate_of(Operator& op) {
    lab::Value* rate = nullptr;
    if ((op.name.ends_with("dropout") || op.name.ends_with("dropout_")) && op.args.size() > 1) rate = &op.args[1];
    if (op.name == "aten::scaled_dot_product_attention" && op.args.size() > 4) rate = &op.args[4];
    for (auto& [name, value] : op.kwargs) {
      if (name == "dropout_p" || name == "p") rate = &value;
    }
    return rate;
  }

  // What a functional dropout of the module drops: a number that it holds.
  static std::optional<Unclear> change_rate(const Change& change, Operator& op) {
    lab::Value* rate = rate_of(op);
    const auto* recorded = rate == nullptr ? nullptr : std::get_if<double>(&rate->is);
    if (recorded == nullptr) return std::nullopt;
    std::set<double> now;
    add_rates(*change.was, *change.is, *recorded, now, 0);
    if (now.size() > 1) return unclear(change, "which of several numbers a dropout drops cannot be known");
    if (!now.empty()) rate->is = *now.begin();
    return std::nullopt;
  }

  std::optional<Unclear> change_arguments(const Change& change, Operator& op) {
    const layers::Value &is = *change.is, &was = *change.was;
    if (was.layer == "Module" || was.layer == "MultiheadAttention") {
      if (auto why = change_rate(change, op)) return why;
    }
    if (op.name == "aten::dropout" || op.name == "aten::feature_dropout") {
      const Ref p = argument(is, "p");
      if (const auto rate = p ? real_of(*p) : std::nullopt) set(op, 1, {*rate});
    }
    if (op.name == "aten::layer_norm" || op.name == "aten::rms_norm") {
      if (const auto shape = list_of(argument(is, "normalized_shape"), 1, 0)) set(op, 1, *shape);
    }
    if (op.name == "aten::group_norm") {
      if (const auto groups = whole_of(argument(is, "num_groups"))) set(op, 1, number(*groups));
    }
    if (op.name.starts_with("aten::conv")) return change_convolution(change, op);
    if (is_recurrent(is.layer) || is.layer.ends_with("Cell")) {
      change_state(was, is, op);
      const Ref dropout = argument(is, "dropout");
      if (const auto rate = lab::is_recurrent(op) && dropout ? real_of(*dropout) : std::nullopt) set(op, 5, {*rate});
    }
    return std::nullopt;
  }

  static std::optional<Unclear> change_convolution(const Change& change, Operator& op) {
    const bool transposed = op.name.starts_with("aten::conv_transpose");
    if (!op.overload.empty() && op.overload != "input") return unclear(change, "a padding that is a word is not followed");
    const auto dimensions = static_cast<std::size_t>(op.name[op.name.size() - 2] - '0');
    if (dimensions < 1 || dimensions > 3) return unclear(change, "it calls " + op.name + ", which is not followed");
    struct Place {
      std::string_view name;
      std::size_t at;
      std::int64_t otherwise;
    };
    const std::array<Place, 3> lists{{{"stride", 3, 1}, {"padding", 4, 0}, {"dilation", transposed ? std::size_t{7} : std::size_t{5}, 1}}};
    const std::size_t groups_at = 6;
    // Defaults that the recording leaves out come first.
    if (op.args.size() < 3) op.args.resize(3);
    const Ref groups = argument(*change.is, "groups");
    for (const auto& [name, at, otherwise] : lists) {
      const auto value = list_of(argument(*change.is, name), dimensions, otherwise);
      if (!value) return unclear(change, "`" + std::string(name) + "` cannot be known");
      if (!transposed || at < op.args.size() || at < 5) set(op, at, *value);
    }
    if (transposed) {
      if (const auto more = list_of(argument(*change.is, "output_padding"), dimensions, 0)) set(op, 5, *more);
      set(op, 7, *list_of(argument(*change.is, "dilation"), dimensions, 1));
    }
    set(op, groups_at, number(whole_of(groups).value_or(1)));
    return std::nullopt;
  }

  // Zeros that a recurrent layer makes to begin with.
  static void change_state(const layers::Value& was, const layers::Value& is, Operator& op) {
    auto* sizes = op.name == "aten::zeros" && !op.args.empty() ? std::get_if<lab::Values>(&op.args[0].is) : nullptr;
    const auto old = whole_of(argument(was, "hidden_size")), now = whole_of(argument(is, "hidden_size"));
    if (sizes != nullptr && !sizes->empty() && old && now && sizes->back() == number(*old)) sizes->back() = number(*now);
  }

  const Changes& changes_;
  std::map<std::pair<Ref, std::string>, bool> cuts_;  // whether a class cuts by an attribute
  Program program_;
};

}  // namespace

void adopt(Rewritten& rewritten, lab::Finished finished) {
  for (lab::TensorId& id : finished.recorded) {
    if (id >= 0 && !rewritten.recorded.empty()) id = rewritten.recorded.at(static_cast<std::size_t>(id));
  }
  rewritten.recorded = std::move(finished.recorded);
  rewritten.program = std::move(finished.program);
}

std::expected<Rewritten, Unclear> rewrite(Program program, const Changes& changes) {
  return Rewriting(std::move(program), changes).run();
}

}  // namespace hotlens::layers
