// What names of a top level mean, through imports and other files; and classes: their bases, what they inherit, which are torch's.
#include <algorithm>
#include <cctype>
#include <ranges>
#include <unordered_map>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

// Whether a name begins like its module, as in `from .clip import *` for CLIPModel: there it is looked for first, for a package may have
// hundreds of such imports.
bool named_after(std::string_view name, std::string_view module) {
  std::string stem = last_part(module);
  std::erase(stem, '_');
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return !stem.empty() && name.size() > stem.size() &&
         std::equal(stem.begin(), stem.end(), name.begin(), [&](char b, char a) { return same(a, b); });
}

}  // namespace

ValueId Evaluator::import_module(const std::string& dotted, const Code& from) {
  if (!is_known_name(dotted)) {
    if (const Code* code = library_.module(dotted, from)) return add({.kind = Kind::file, .name = dotted, .node = code->root()});
  }
  return external(dotted);
}

ValueId Evaluator::at_top_level(Node expression) {
  return Interpreter(*this, {.code = expression.code}).evaluate(expression);
}

ValueId Evaluator::binding(const Code& code, const Binding& bound) {
  switch (bound.kind) {
    case Binding::Kind::type:
      return type_value(class_of(bound.node));
    case Binding::Kind::function:
      return add({.kind = Kind::function, .name = std::string(bound.node.field("name").text()), .node = bound.node});
    case Binding::Kind::value:
      return at_top_level(bound.node);
    case Binding::Kind::module:
      return import_module(bound.module, code);
    case Binding::Kind::member: {
      const std::string separator = bound.module.ends_with('.') ? "" : ".";
      const std::string dotted = bound.module + separator + bound.name;
      if (is_known_name(bound.module)) return external(dotted);
      const Code* file = library_.module(bound.module, code);
      if (file != nullptr) {
        if (const ValueId value = name_in(*file, bound.name); value != kUnknown) return value;
      }
      if (const Code* below = library_.module(dotted, code)) return add({.kind = Kind::file, .name = dotted, .node = below->root()});
      return file != nullptr ? kUnknown : external(dotted);
    }
    case Binding::Kind::star:
      break;
  }
  return kUnknown;
}

ValueId Evaluator::name_in(const Code& code, const std::string& name) {
  const auto [known, fresh] = names_.try_emplace({&code, name}, kUnknown);  // unknown while it is looked for: imports may be circular
  if (!fresh) return known->second;
  std::vector<ValueId> values;
  if (const auto bound = code.names().find(name); bound != code.names().end()) {
    for (const Binding& one : bound->second) {
      if (const ValueId value = binding(code, one); at(value).kind != Kind::constant) values.push_back(value);
    }
  }
  for (const bool kin : {true, false}) {
    if (!values.empty()) break;
    for (const Binding& star : code.star_imports()) {
      if (is_known_name(star.module) || named_after(name, star.module) != kin) continue;
      const Code* file = library_.module(star.module, code);
      if (file == nullptr || !file->may_bind(name)) continue;
      if (const ValueId value = name_in(*file, name); value != kUnknown) values.push_back(value);
    }
  }
  return names_[{&code, name}] = any(values);
}

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
  std::vector<ClassId> all{id};
  for (const Node& base : definition.field("superclasses").children()) {
    if (base.is("keyword_argument")) continue;
    const Node plain = base.is("subscript") ? base.field("value") : base;  // Generic[T]
    const Value& value = at(alternatives(at_top_level(plain)).front());
    const ClassId type = value.kind == Kind::external ? external_class(value.name) : value.type;
    const bool readable = value.kind == Kind::external || value.kind == Kind::type;
    made.open = made.open || !readable || classes_[type].open;
    if (readable) all.insert(all.end(), classes_[type].order.begin(), classes_[type].order.end());
  }
  // Depth first, of several mentions the last.
  made.order.clear();
  for (const ClassId one : std::views::reverse(all)) add_once(made.order, one);
  std::ranges::reverse(made.order);
  return id;
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

bool Evaluator::inherits(ClassId type, ClassId base) const {
  return type != kNoClass && contains(classes_[type].order, base);
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
    if (found->second.back().kind != Binding::Kind::function) return class_attribute(order[i], found->first);
    return add({.kind = Kind::function, .name = std::string(name), .node = node, .type = order[i], .self = self});
  }
  return kUnknown;
}

ValueId Evaluator::class_attribute(ClassId type, const std::string& name) {
  std::vector<ValueId> values;
  for (const Binding& one : std::vector(classes_[type].names.at(name))) {
    if (one.node.parent().field("type")) values.push_back(kUnknown);  // `act: type = nn.ReLU`: each object may be given another
    values.push_back(binding(*classes_[type].node.code, one));
  }
  return any(values);
}

}  // namespace hotlens::guess
