// Classes: their bases, what they inherit, and which of torch they come from.
#include <algorithm>
#include <ranges>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

std::vector<Node> decorators(Node definition) {
  const Node above = definition.parent();
  if (!above || !above.is("decorated_definition")) return {};
  std::vector<Node> found = above.children();
  std::erase_if(found, [](const Node& child) { return !child.is("decorator"); });
  return found;
}

bool is_property(Node function) {
  return std::ranges::any_of(decorators(function), [](const Node& one) { return one.text().find("property") != std::string_view::npos; });
}

// Whether a class gets its constructor from its fields.
bool has_fields(Node type) {
  const auto is_dataclass = [](const Node& one) { return last_part(one.text().substr(0, one.text().find('('))).ends_with("dataclass"); };
  if (std::ranges::any_of(decorators(type), is_dataclass)) return true;
  const Node bases = type.field("superclasses");
  return bases && std::ranges::any_of(bases.children(), [](const Node& base) { return last_part(base.text()) == "NamedTuple"; });
}

// The annotated names of a class's body: (name, value; null where none).
std::vector<std::pair<std::string, Node>> annotated(Node type) {
  std::vector<std::pair<std::string, Node>> found;
  const Node body = type.field("body");
  for (const Node& statement : body ? body.children() : std::vector<Node>{}) {
    for (const Node& one : statement.children()) {
      const Node name = one.is("assignment") && one.field("type") ? one.field("left") : Node{};
      if (name && name.is("identifier")) found.emplace_back(name.text(), one.field("right"));
    }
  }
  return found;
}

}  // namespace

std::vector<Slot> Evaluator::fields(ClassId type, const std::vector<Argument>* given) {
  std::vector<Slot> slots;
  for (const ClassId one : std::views::reverse(std::vector(classes_[type].order))) {
    const Node node = classes_[one].node;
    if (!node || !has_fields(node)) continue;
    for (const auto& [name, value] : annotated(node)) {
      const bool made = value && value.is("call");  // field(default_factory=…)
      const bool known = given != nullptr && value && !made;
      const ValueId otherwise =
          known ? Interpreter(*this, {.code = node.code, .scope = std::make_shared<Scope>()}).evaluate(value) : kUnknown;
      const auto inherited = std::ranges::find(slots, name, &Slot::name);
      if (inherited != slots.end()) {
        inherited->value = otherwise;
      } else {
        slots.push_back({.name = name, .value = otherwise});
      }
    }
  }
  std::size_t next = 0;
  for (const Argument& one : given != nullptr ? *given : std::vector<Argument>{}) {
    if (one.splat) {
      for (Slot& slot : slots) slot.value = kUnknown;
      break;
    }
    const auto named = one.name.empty() ? slots.begin() + static_cast<std::ptrdiff_t>(std::min(next++, slots.size()))
                                        : std::ranges::find(slots, one.name, &Slot::name);
    if (named != slots.end()) named->value = one.value;
  }
  return slots;
}

ClassId Evaluator::class_of(Node definition) {
  const auto [known, fresh] = class_by_node_.try_emplace(definition.id(), static_cast<ClassId>(classes_.size()));
  if (!fresh) return known->second;
  const ClassId id = known->second;
  classes_.emplace_back();
  const Node name = definition.field("name"), body = definition.field("body"), supers = definition.field("superclasses");
  classes_[id].name = name ? std::string(name.text()) : std::string();
  classes_[id].node = definition;
  classes_[id].order = {id};
  if (body) {
    for (auto& [bound, binding] : bindings_of(body)) classes_[id].names[bound].push_back(binding);
  }
  std::vector<ClassId> bases;
  bool open = false;
  Interpreter top(*this, {.code = definition.code, .scope = std::make_shared<Scope>()});
  for (const Node& base : supers ? supers.children() : std::vector<Node>{}) {
    if (base.is("keyword_argument")) continue;
    const Node plain = base.is("subscript") ? base.field("value") : base;  // Generic[T]
    const std::vector<ValueId> values = alternatives(top.evaluate(plain));
    const Value& value = at(values.empty() ? kUnknown : values.front());
    if (value.kind == Kind::type) {
      bases.push_back(value.type);
    } else if (value.kind == Kind::external) {
      bases.push_back(external_class(value.name));
    } else {
      open = true;
    }
  }
  classes_[id].bases = std::move(bases);
  classes_[id].open = open || std::ranges::any_of(classes_[id].bases, [&](ClassId base) { return classes_[base].open; });
  classes_[id].order = resolution_order(id);
  return id;
}

std::vector<ClassId> Evaluator::resolution_order(ClassId type) const {
  std::vector<ClassId> all{type};
  for (const ClassId base : classes_[type].bases) {
    all.insert(all.end(), classes_[base].order.begin(), classes_[base].order.end());
  }
  std::vector<ClassId> order;
  for (const ClassId one : std::views::reverse(all)) {
    if (std::ranges::find(order, one) == order.end()) order.push_back(one);
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
  if (type == kNoClass) return Container::none;
  for (const ClassId one : classes_[type].order) {
    const Class& base = classes_[one];
    if (!is_torch_name(base.external)) continue;
    if (base.name == "Sequential") return Container::sequential;
    if (base.name == "ModuleList") return Container::list;
    if (base.name == "ModuleDict") return Container::mapping;
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
    if (!holder.node) {
      if ((name == "__init__" || name == "__getitem__") && holder.name != "object")
        return add({.kind = Kind::method, .name = std::string(name), .type = order[i], .of = self});
      continue;
    }
    const auto found = holder.names.find(std::string(name));
    if (found == holder.names.end()) continue;
    const Binding& last = found->second.back();
    const Code& code = *holder.node.code;
    if (last.kind != Binding::Kind::function) {
      std::vector<ValueId> values;
      for (const Binding& one : std::vector(found->second)) {
        const ValueId value = binding(code, one);
        // A module that a class holds is one object for all: its line is the class body's.
        if (at(value).kind == Kind::instance && one.node) {
          values.push_back(add({.kind = Kind::place,
                                .name = std::string(name),
                                .of = self,
                                .inner = value,
                                .spot = {&code, statement_of(one.node).range(), qualified_name(holder.node)}}));
        } else {
          values.push_back(value);
        }
      }
      return any(values);
    }
    const ValueId function = add({.kind = Kind::function, .name = std::string(name), .node = last.node, .type = order[i], .self = self});
    if (self == kUnknown || !is_property(last.node)) return function;
    return Interpreter(*this, {.code = &code, .scope = std::make_shared<Scope>()}).call(function, {}, last.node);
  }
  return kUnknown;
}

}  // namespace hotlens::guess
