// Classes: their bases, what they inherit, and which of torch they come from.
#include <algorithm>
#include <ranges>
#include <unordered_map>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

bool is_property(Node function) {
  return std::ranges::any_of(function.parent().children("decorator"),
                             [](const Node& one) { return one.text().find("property") != std::string_view::npos; });
}

}  // namespace

ClassId Evaluator::class_of(Node definition) {
  const auto [known, fresh] = class_by_node_.try_emplace(definition.id(), static_cast<ClassId>(classes_.size()));
  if (!fresh) return known->second;
  const ClassId id = known->second;
  classes_.emplace_back();
  Class& made = classes_[id];
  made.name = definition.field("name").text();
  made.node = definition;
  made.order = {id};
  for (auto& [bound, binding] : bindings_of(definition.field("body"))) made.names[bound].push_back(binding);
  std::vector<ClassId> bases;
  bool open = false;
  Interpreter top(*this, {.code = definition.code});
  for (const Node& base : definition.field("superclasses").children()) {
    if (base.is("keyword_argument")) continue;
    const Node plain = base.is("subscript") ? base.field("value") : base;  // Generic[T]
    const Value& value = at(alternatives(top.evaluate(plain)).front());
    if (value.kind == Kind::type) {
      bases.push_back(value.type);
    } else if (value.kind == Kind::external) {
      bases.push_back(external_class(value.name));
    } else {
      open = true;
    }
  }
  made.bases = std::move(bases);
  made.open = open || std::ranges::any_of(made.bases, [&](ClassId base) { return classes_[base].open; });
  made.order = resolution_order(id);
  return id;
}

std::vector<ClassId> Evaluator::resolution_order(ClassId type) const {
  std::vector<ClassId> all{type};
  for (const ClassId base : classes_[type].bases) {
    all.insert(all.end(), classes_[base].order.begin(), classes_[base].order.end());
  }
  std::vector<ClassId> order;
  for (const ClassId one : std::views::reverse(all)) {
    add_once(order, one);
  }
  std::ranges::reverse(order);
  return order;
}

ClassId Evaluator::external_class(const std::string& dotted) {
  const auto [known, fresh] = class_by_name_.try_emplace(dotted, static_cast<ClassId>(classes_.size()));
  if (!fresh) return known->second;
  classes_.push_back({.name = last_part(dotted), .external = dotted});
  classes_.back().order = {known->second};
  classes_.back().open = !is_torch_name(dotted) && dotted != "object";
  return known->second;
}

ClassId Evaluator::class_named(const Code& code, std::string_view name) {
  ClassId found = kNoClass;
  for (const ValueId value : alternatives(name_in(code, std::string(name)))) {
    if (at(value).kind != Kind::type || (found != kNoClass && found != at(value).type)) return kNoClass;
    found = at(value).type;
  }
  return found;
}

ValueId Evaluator::type_value(ClassId type) {
  const auto [known, fresh] = type_values_.try_emplace(type, kUnknown);
  if (fresh) known->second = add({.kind = Kind::type, .name = classes_[type].name, .type = type});
  return known->second;
}

Container Evaluator::container(ClassId type) const {
  static const std::unordered_map<std::string_view, Container> kContainers{
      {"Sequential", Container::sequential}, {"ModuleList", Container::list}, {"ModuleDict", Container::mapping}};
  for (const ClassId one : type != kNoClass ? classes_[type].order : std::vector<ClassId>{}) {
    const auto found = kContainers.find(classes_[one].name);
    if (found != kContainers.end() && is_torch_name(classes_[one].external)) return found->second;
  }
  return Container::none;
}

bool Evaluator::derives(ClassId type, std::string_view name) const {
  if (type == kNoClass) return false;
  return std::ranges::any_of(classes_[type].order, [&](ClassId one) { return classes_[one].name == name; });
}

bool Evaluator::is_module(ClassId type) const {
  if (type == kNoClass) return false;
  return std::ranges::any_of(classes_[type].order, [&](ClassId one) { return classes_[one].external.starts_with("torch.nn"); });
}

bool Evaluator::is_torch(ClassId type) const {
  return type != kNoClass && is_torch_name(classes_[type].external);
}

ValueId Evaluator::method(ClassId type, std::string_view name, ValueId self, std::size_t after) {
  if (type == kNoClass) return kUnknown;
  const std::vector<ClassId> order = classes_[type].order;
  for (std::size_t i = after; i < order.size(); ++i) {
    const Class& holder = classes_[order[i]];
    const bool known_by_name = !holder.node && holder.name != "object" && (name == "__init__" || name == "__getitem__");
    if (known_by_name) return add({.kind = Kind::method, .name = std::string(name), .type = order[i], .of = self});
    const auto found = holder.names.find(std::string(name));
    if (found == holder.names.end()) continue;
    const Node node = found->second.back().node;
    if (found->second.back().kind != Binding::Kind::function) return class_attribute(order[i], found->first, self);
    const ValueId function = add({.kind = Kind::function, .name = std::string(name), .node = node, .type = order[i], .self = self});
    if (self == kUnknown || !is_property(node)) return function;
    return Interpreter(*this, {.code = node.code}).call(function, {}, node);
  }
  return kUnknown;
}

// A module that a class holds is one object for all: its line is the class body's.
ValueId Evaluator::class_attribute(ClassId type, const std::string& name, ValueId self) {
  const Node holder = classes_[type].node;
  std::vector<ValueId> values;
  for (const Binding& one : std::vector(classes_[type].names.at(name))) {
    if (one.node.parent().field("type")) values.push_back(kUnknown);  // `act: type = nn.ReLU`: each object may be given another
    values.push_back(binding(*holder.code, one));
    if (at(values.back()).kind != Kind::instance || !one.node) continue;
    const Spot spot{holder.code, statement_of(one.node).range(), qualified_name(holder)};
    values.back() = add({.kind = Kind::place, .name = name, .of = self, .inner = values.back(), .spot = spot});
  }
  return any(values);
}

}  // namespace hotlens::guess
