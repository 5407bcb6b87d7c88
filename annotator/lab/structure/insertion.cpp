#include "annotator/lab/structure/insertion.h"

#include <algorithm>
#include <array>

#include "annotator/lab/layers/match/forward.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/structure/calls.h"
#include "annotator/lab/structure/new_layers.h"
#include "annotator/lab/structure/parameters.h"
#include "annotator/lab/structure/releases.h"

namespace hotlens::layers {
namespace {

using lab::is_within;
using lab::Operator;
using lab::Tensor;
using lab::TensorId;
using lab::TensorKind;

// Of `F.dropout(x, p=self.rate, training=self.training)`, a new call in a method of the module.
std::optional<double> dropout_rate(const Step& function, const Value& module) {
  if (function_name(function) != "dropout") return std::nullopt;
  double rate = 0.5;
  const auto given = function.at.field("arguments").children();
  for (std::size_t place = 1; place < given.size(); ++place) {
    const bool named = given[place].is("keyword_argument");
    const std::string_view name = named ? given[place].field("name").text() : place == 1 ? "p" : place == 2 ? "training" : "";
    const Node value = named ? given[place].field("value") : given[place];
    if (name == "training" && (value.is("true") || value.text() == "self.training")) continue;
    const bool own = value.is("attribute") && value.field("object").text() == "self";
    const Ref held = own ? attribute_of(module, value.field("attribute").text()) : nullptr;
    const auto number = held ? real_of(*held) : value.is("float") ? std::optional(literal_number(value)) : std::nullopt;
    if (name != "p" || !number) return std::nullopt;
    rate = *number;
  }
  return rate;
}

bool is_held(const Tensor& tensor) {
  return tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::buffer;
}

// What exists before the step is not let go by a layer that takes it, as what another one like it takes may be.
void keep_from_release(std::vector<Operator>& operators, TensorId id) {
  for (Operator& op : operators) {
    if (op.kind == lab::OperatorKind::free) lab::keep_only(op, [&](TensorId one) { return one != id; });
  }
}

Tensor counter(const Tensor& beside) {
  Tensor made{.kind = TensorKind::buffer,
              .name = {},
              .dtype = "int64",
              .device = beside.device,
              .shape = {},
              .stride = {},
              .offset = {},
              .storage_bytes = {.offset = sizeof(std::int64_t)},
              .least = {},
              .most = {},
              .range = {},
              .value = lab::Value{lab::Whole{}}};
  return made;
}

}  // namespace

Unclear Insertion::unclear(const std::string& path, std::string reason, std::string op) const {
  const auto line = changes_.lines.find(path);
  return {.reason = std::move(reason), .module = path, .at = line == changes_.lines.end() ? Line{} : line->second, .op = std::move(op)};
}

// Of a layer, or of the list that holds it.
std::optional<std::string> Insertion::model_of(const std::string& path) const {
  for (std::string above = path; !above.empty(); above = lab::split_name(above).first) {
    const auto found = changes_.alignment.models.find(above);
    if (found != changes_.alignment.models.end()) return found->second + path.substr(above.size());
  }
  return std::nullopt;
}

bool Insertion::is_sequence_of_layers(const std::string& path) const {
  return is_sequence(*changes_.is.at(path));
}

std::string Insertion::present(const std::string& path) const {
  const auto kept = changes_.alignment.kept.find(path);
  return kept == changes_.alignment.kept.end() ? kNew + path : kept->second;
}

bool Insertion::is_called(const std::string& path) const {
  const auto kept = changes_.alignment.kept.find(path);
  return kept != changes_.alignment.kept.end() && !lab::calls_of(recorded_.program, kept->second).empty();
}

std::optional<Unclear> Insertion::add_tensors(const std::string& path) {
  if (is_called(path) || !added_.insert(path).second) return std::nullopt;
  if (is_sequence_of_layers(path)) {
    for (const std::string& below : changes_.alignment.order) {
      const bool child = is_within(below, path) && below.size() > path.size() && below.find('.', path.size() + 1) == std::string::npos;
      if (!child) continue;
      if (auto why = add_tensors(below)) return why;
    }
    return std::nullopt;
  }
  if (auto why = forget(path)) return why;
  const bool torchs = changes_.is.at(path)->self->kind == Value::Kind::external;
  if (torchs && held_by(*changes_.is.at(path))) return add_layer(path);
  if (const auto model = model_of(path)) return add_copy(path, *model);
  return torchs ? add_layer(path)
                : unclear(path, "what a new " + class_name(*changes_.is.at(path)) + " calls is not known: the recorded model has none");
}

// What the step holds of a layer that was there and that nobody called: it takes part now.
std::optional<Unclear> Insertion::forget(const std::string& path) {
  if (!changes_.alignment.kept.contains(path)) return std::nullopt;
  const std::vector<Tensor>& tensors = recorded_.program.tensors;
  for (std::size_t at = 0; at < tensors.size(); ++at) {
    const auto id = static_cast<TensorId>(at);
    if (!is_held(tensors[at]) || !is_within(lab::split_name(tensors[at].name).first, present(path))) continue;
    if (tensors[at].kind == TensorKind::buffer) {
      draft_.gone.insert(id);
      continue;
    }
    if (auto why = lab::remove_parameter(draft_, id)) return unclear(path, *why);
    if (draft_.listed(id) != nullptr) return unclear(path, "`" + tensors[at].name + "` is another layer's too");
  }
  return std::nullopt;
}

// Whether new parameters are, as those of the nearest module around that has some are; nullopt where these differ.
std::optional<bool> Insertion::is_trained(const std::string& path) const {
  for (std::string above = lab::split_name(path).first;; above = lab::split_name(above).first) {
    std::set<bool> found;
    for (const Tensor& tensor : draft_.program.tensors) {
      const bool inside = above.empty() || is_within(lab::split_name(tensor.name).first, present(above));
      if (tensor.kind == TensorKind::parameter && inside) found.insert(tensor.requires_grad);
    }
    if (!found.empty()) return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
    if (above.empty()) return true;
  }
}

std::optional<Unclear> Insertion::add_layer(const std::string& path) {
  const auto held = held_by(*changes_.is.at(path));
  if (!held) return unclear(path, held.error());
  std::vector<TensorId>& own = tensors_[path];
  for (const Held& one : *held) {
    auto example = std::ranges::find_if(draft_.program.tensors, [&](const Tensor& tensor) {
      return tensor.kind == TensorKind::parameter && tensor.shape.size() == one.shape.size();
    });
    if (example == draft_.program.tensors.end()) example = std::ranges::find(draft_.program.tensors, TensorKind::parameter, &Tensor::kind);
    if (example == draft_.program.tensors.end())
      return unclear(path, "the recorded model has no parameters that show what is done with new ones");
    const auto trained = one.parameter ? is_trained(path) : false;
    if (!trained) return unclear(path, "some parameters of the model are frozen; whether new ones are cannot be known");
    Tensor made = one.whole ? counter(*example) : *example;
    made.kind = one.parameter ? TensorKind::parameter : TensorKind::buffer;
    made.name = kNew + path + "." + one.name;
    made.requires_grad = *trained;
    if (!one.whole) {
      made.value.reset();
      lab::shape(made, one.shape);
    }
    own.push_back(draft_.add(std::move(made)));
    if (*trained) parameters_.push_back(own.back());
  }
  return std::nullopt;
}

std::optional<Unclear> Insertion::add_copy(const std::string& path, const std::string& model) {
  const std::string like = present(model);
  std::vector<std::pair<TensorId, Tensor>> found;
  const auto see = [&](TensorId id, const Tensor& tensor) {
    if (is_held(tensor) && draft_.listed(id) != nullptr && is_within(lab::split_name(tensor.name).first, like))
      found.emplace_back(id, tensor);
  };
  for (std::size_t id = 0; id < draft_.program.tensors.size(); ++id) see(static_cast<TensorId>(id), draft_.program.tensors[id]);
  for (const auto& [id, tensor] : draft_.added) see(id, tensor);
  for (auto& [id, tensor] : found) {
    tensor.name = kNew + path + tensor.name.substr(like.size());
    const TensorId made = draft_.add(tensor);
    draft_.recorded[made] = draft_.recorded.contains(id) ? draft_.recorded.at(id) : id;
    if (tensor.kind == TensorKind::parameter) parameters_.push_back(made);
    models_[made] = id;
  }
  return std::nullopt;
}

std::size_t Insertion::module(const std::string& name, const std::string& type) {
  const auto found = std::ranges::find(draft_.program.modules, name);
  if (found != draft_.program.modules.end()) return static_cast<std::size_t>(found - draft_.program.modules.begin());
  draft_.program.modules.push_back(name);
  draft_.program.classes.push_back(type);
  return draft_.program.modules.size() - 1;
}

std::expected<lab::Called, Unclear> Insertion::call(const std::string& path, TensorId in, const Operator& like, std::size_t number) {
  if (is_sequence_of_layers(path)) {
    lab::Called all{.operators = {}, .out = in};
    for (const std::string& below : changes_.alignment.order) {
      const bool child = is_within(below, path) && below.size() > path.size() && below.find('.', path.size() + 1) == std::string::npos;
      if (!child) continue;
      auto one = call(below, all.out, like, number);
      if (!one) return one;
      std::ranges::move(one->operators, std::back_inserter(all.operators));
      all.out = one->out;
    }
    return all;
  }
  if (is_called(path)) return call_again(path, in, number);
  return is_copy(path) ? call_copy(path, in, number) : call_layer(path, in, like);
}

bool Insertion::is_copy(const std::string& path) const {
  const bool torchs = changes_.is.at(path)->self->kind == Value::Kind::external;
  return model_of(path) && !(torchs && tensors_.contains(path));
}

std::expected<lab::Called, Unclear> Insertion::call_layer(const std::string& path, TensorId in, const Operator& like) {
  const Value& layer = *changes_.is.at(path);
  auto written = write(layer, tensors_[path], in, like, draft_);
  if (!written) return std::unexpected(unclear(path, written.error()));
  for (Operator& op : written->operators) op.module = module(kNew + path, class_name(layer));
  return lab::Called{.operators = std::move(written->operators), .out = written->out};
}

std::optional<lab::Call> Insertion::example(const std::string& path, std::size_t number) const {
  if (is_sequence_of_layers(path) || is_called(path) || !is_copy(path)) return std::nullopt;
  const auto calls = lab::calls_of(draft_.program, present(*model_of(path)));
  return calls.empty() ? std::nullopt : std::optional(calls[std::min(number, calls.size() - 1)]);
}

std::vector<Operator> Insertion::copy(const std::string& path, const lab::Call& example, lab::Ids& ids) {
  const std::string like = present(*model_of(path));
  for (const auto& [made, id] : models_) {
    if (is_within(lab::split_name(draft_.listed(made)->name).first, kNew + path)) ids[id] = made;
  }
  std::vector<Operator> operators = lab::copied(draft_, draft_, example, ids);
  for (Operator& op : operators) {
    if (op.module == lab::kNoModule) continue;
    const std::string name = draft_.program.modules[op.module], type = draft_.program.classes[op.module];
    if (is_within(name, like)) op.module = module(kNew + path + name.substr(like.size()), type);
  }
  return operators;
}

std::expected<lab::Called, Unclear> Insertion::call_copy(const std::string& path, TensorId in, std::size_t number) {
  const std::string model = *model_of(path);
  const auto shown = example(path, number);
  if (!shown) return std::unexpected(unclear(path, "the recorded step does not call " + model + ", which is one like it"));
  const auto flow = lab::through(draft_, *shown);
  if (!flow)
    return std::unexpected(unclear(path, model + ", which is one like it, " + flow.error(), draft_.program.operators[shown->begin].name));
  lab::Ids ids{{flow->in, in}};
  auto operators = copy(path, *shown, ids);
  if (draft_.listed(in) != nullptr) keep_from_release(operators, in);
  return lab::Called{.operators = std::move(operators), .out = lab::now(ids, flow->out)};
}

// A layer that the recorded step calls somewhere, with the same parameters.
std::expected<lab::Called, Unclear> Insertion::call_again(const std::string& path, TensorId in, std::size_t number) {
  const auto calls = lab::calls_of(recorded_.program, changes_.alignment.kept.at(path));
  const lab::Call& example = calls[std::min(number, calls.size() - 1)];
  const auto flow = lab::through(recorded_, example);
  if (!flow) return std::unexpected(unclear(path, "what it is called with elsewhere: it " + flow.error()));
  lab::Ids ids{{flow->in, in}};
  auto operators = lab::copied(recorded_, draft_, example, ids);
  if (draft_.listed(in) != nullptr) keep_from_release(operators, in);
  return lab::Called{.operators = std::move(operators), .out = lab::now(ids, flow->out)};
}

std::expected<lab::Called, Unclear> Insertion::call(const Step& function, const std::string& holder, TensorId in, const Operator& like) {
  constexpr std::array<std::pair<std::string_view, const char*>, 11> kFunctions{{{"relu", "ReLU"},
                                                                                 {"gelu", "GELU"},
                                                                                 {"silu", "SiLU"},
                                                                                 {"tanh", "Tanh"},
                                                                                 {"sigmoid", "Sigmoid"},
                                                                                 {"hardswish", "Hardswish"},
                                                                                 {"leaky_relu", "LeakyReLU"},
                                                                                 {"elu", "ELU"},
                                                                                 {"mish", "Mish"},
                                                                                 {"softplus", "Softplus"},
                                                                                 {"relu6", "ReLU6"}}};
  const auto known = std::ranges::find(kFunctions, function_name(function), &std::pair<std::string_view, const char*>::first);
  const auto rate = dropout_rate(function, *changes_.is.at(holder));
  if (!rate && (known == kFunctions.end() || !function.function.ends_with("()"))) {
    Unclear why = unclear(holder, "what a new call of " + function_name(function) + " does is not followed");
    why.at = line_of(function.at);
    return std::unexpected(std::move(why));
  }
  if (rate == 0) return lab::Called{.operators = {}, .out = in};
  Value layer{.kind = Value::Kind::object};
  layer.layer = rate ? "Dropout" : known->second;
  auto written = write(layer, {}, in, like, draft_);
  if (!written) return std::unexpected(unclear(holder, written.error()));
  for (Operator& op : written->operators) op.module = module(present(holder), class_name(*changes_.is.at(holder)));
  return lab::Called{.operators = std::move(written->operators), .out = written->out};
}

// Parameters as an optimizer is given them.
std::vector<TensorId> Insertion::in_order() const {
  std::map<std::string, std::vector<TensorId>> of;
  const auto see = [&](TensorId id, const Tensor& tensor) {
    if (tensor.kind == TensorKind::parameter && draft_.listed(id) != nullptr) of[lab::split_name(tensor.name).first].push_back(id);
  };
  for (std::size_t id = 0; id < draft_.program.tensors.size(); ++id) see(static_cast<TensorId>(id), draft_.program.tensors[id]);
  for (const auto& [id, tensor] : draft_.added) see(id, tensor);
  std::vector<TensorId> all;
  for (const std::string& path : changes_.alignment.order) {
    const auto found = of.find(present(path));
    if (found != of.end()) all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

// Parameters that the recorded step has, the nearest first, those with as many dimensions before others.
std::vector<TensorId> Insertion::alike(TensorId parameter, const std::vector<TensorId>& order) const {
  const auto place = [&](TensorId id) { return std::ranges::find(order, id) - order.begin(); };
  const auto own = place(parameter);
  std::vector<TensorId> all;
  std::ranges::copy_if(order, std::back_inserter(all),
                       [&](TensorId id) { return std::ranges::find(parameters_, id) == parameters_.end(); });
  const auto rank = [&](TensorId id) {
    const bool same = (draft_.listed(id)->shape.size() > 1) == (draft_.listed(parameter)->shape.size() > 1);
    return std::pair(!same, std::abs(place(id) - own));
  };
  std::ranges::sort(all, {}, rank);
  if (const auto model = models_.find(parameter); model != models_.end() && std::ranges::find(all, model->second) != all.end())
    all.insert(all.begin(), model->second);
  return all;
}

std::optional<Unclear> Insertion::update() {
  for (const TensorId id : parameters_) {
    const std::string path = lab::split_name(draft_.listed(id)->name).first.substr(1);
    const bool called =
        std::ranges::any_of(draft_.program.operators, [&](const Operator& op) { return op.module != lab::kNoModule && lab::uses(op, id); });
    if (!called) continue;  // without a gradient nothing is done with it
    const auto order = in_order();
    const auto own = std::ranges::find(order, id);
    const bool first = own == order.begin();
    const auto next = std::ranges::find_if(order, [&](TensorId one) { return std::ranges::find(parameters_, one) == parameters_.end(); });
    const TensorId beside = !first ? *(own - 1) : next == order.end() ? lab::kNoTensor : *next;
    if (auto why = lab::update_also(draft_, id, alike(id, order), beside, first)) return unclear(path, *why);
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
