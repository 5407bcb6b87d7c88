#include "annotator/source/evaluator.h"

#include <algorithm>
#include <array>
#include <set>

#include "annotator/source/interpreter.h"

namespace hotlens::source {
namespace {

using Kind = Value::Kind;

constexpr std::int64_t kBudget = 3'000'000;   // expressions; a second of work, twenty times what the largest model of the corpus needs
constexpr std::int64_t kBodyBudget = 60'000;  // of one constructor or forward, the helpers it calls included
constexpr std::size_t kMostAlternatives = 64;

bool is_torch_name(std::string_view dotted) {
  return dotted == "torch" || dotted.starts_with("torch.");
}

std::string last_part(std::string_view dotted) {
  return std::string(dotted.substr(dotted.rfind('.') + 1));
}

// `name` has no unknown parts.
bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(pattern.rfind('*') + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

// Whether two names with unknown parts can be one name: the known heads and tails must not contradict each other.
bool may_be_same(std::string_view a, std::string_view b) {
  if (b.find('*') == std::string_view::npos) return fits(a, b);
  if (a.find('*') == std::string_view::npos) return fits(b, a);
  const std::string_view x = a.substr(0, a.find('*')), y = b.substr(0, b.find('*'));
  return x.starts_with(y) || y.starts_with(x);
}

bool is_property(Node function) {
  const Node above = function.parent();
  if (!above || !above.is("decorated_definition")) return false;
  return std::ranges::any_of(
      above.children(), [](const Node& child) { return child.is("decorator") && child.text().find("property") != std::string_view::npos; });
}

}  // namespace

Evaluator::Evaluator(Library& library) : library_(library), budget_(kBudget) {
  add({});  // kUnknown
}

ValueId Evaluator::add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Evaluator::any(std::vector<ValueId> options) {
  std::vector<ValueId> flat;
  for (const ValueId option : options) {
    const std::vector<ValueId> inner = at(option).kind == Kind::any ? at(option).options : std::vector{option};
    for (const ValueId one : inner) {
      if (flat.size() < kMostAlternatives && std::ranges::find(flat, one) == flat.end()) flat.push_back(one);
    }
  }
  if (flat.empty()) return kUnknown;
  if (flat.size() == 1) return flat.front();
  Value value{.kind = Kind::any};
  value.options = std::move(flat);
  return add(std::move(value));
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
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (std::ranges::find(order, *one) == order.end()) order.push_back(*one);
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

ValueId Evaluator::external(const std::string& dotted) {
  return add({.kind = Kind::external, .name = dotted});
}

ValueId Evaluator::some(ClassId type) {
  const auto [known, fresh] = some_.try_emplace(type, kUnknown);
  if (fresh) known->second = add({.kind = Kind::instance, .type = type});
  return known->second;
}

ValueId Evaluator::made_as(ValueId value, ClassId type) {
  if (at(value).kind != Kind::instance || at(value).type == type) return value;
  const auto [known, fresh] = made_as_.try_emplace({value, type}, kUnknown);
  if (fresh) {
    Value made{.kind = Kind::instance, .type = type};
    made.arguments = at(value).arguments;
    made.trail = at(value).trail;
    known->second = add(std::move(made));
  }
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

std::vector<ValueId> Evaluator::alternatives(ValueId value) const {
  std::vector<ValueId> out, open{value};
  std::set<ValueId> seen;
  while (!open.empty() && out.size() < kMostAlternatives) {
    const ValueId one = open.back();
    open.pop_back();
    if (!seen.insert(one).second) continue;
    const Value& v = at(one);
    if (v.kind == Kind::any) {
      open.insert(open.end(), v.options.rbegin(), v.options.rend());
    } else if (v.kind == Kind::element) {
      for (auto slot = at(v.of).entries.rbegin(); slot != at(v.of).entries.rend(); ++slot) open.push_back(slot->value);
      if (at(v.of).entries.empty()) out.push_back(kUnknown);
    } else {
      out.push_back(one);
    }
  }
  return out;
}

ValueId Evaluator::object(ValueId value) const {
  for (int depth = 0; at(value).kind == Kind::place && depth < 16; ++depth) value = at(value).inner;
  return value;
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
      return any(std::move(values));
    }
    const ValueId function = add({.kind = Kind::function, .name = std::string(name), .node = last.node, .type = order[i], .self = self});
    if (self == kUnknown || !is_property(last.node)) return function;
    return Interpreter(*this, {.code = &code, .scope = std::make_shared<Scope>()}).call(function, {}, last.node);
  }
  return kUnknown;
}

ValueId Evaluator::attribute(ValueId object_value, std::string_view name) {
  std::vector<ValueId> found, loose;
  construct(object_value);
  for (const Slot& slot : at(object_value).slots) {
    if (slot.name == name) {
      found.push_back(slot.value);
    } else if (may_be_same(slot.name, name)) {
      loose.push_back(slot.value);
    }
  }
  if (!found.empty()) return any(std::move(found));
  for (const Slot& slot : at(object_value).entries) {
    if (slot.name == name) found.push_back(slot.value);
  }
  if (!found.empty()) return any(std::move(found));
  const ValueId inherited = method(at(object_value).type, name, object_value);
  if (inherited != kUnknown || loose.empty()) return inherited;
  return any(std::move(loose));
}

ValueId Evaluator::assigned(ValueId holder, std::string_view name) const {
  for (auto one = assigned_.rbegin(); one != assigned_.rend(); ++one) {
    if (one->holder == holder && one->name == name) return one->value;
  }
  return kUnknown;
}

void Evaluator::leave_way(std::size_t mark) {
  std::vector<Assigned> gone(assigned_.begin() + static_cast<std::ptrdiff_t>(mark), assigned_.end());
  assigned_.resize(mark);
  for (Assigned& one : gone) {
    if (assigned(one.holder, one.name) == kUnknown) continue;
    one.value = kUnknown;
    assigned_.push_back(std::move(one));
  }
}

const std::vector<Slot>& Evaluator::entries(ValueId object_value) {
  construct(object_value);
  return at(object_value).entries;
}

std::vector<Spot> Evaluator::made_at(ValueId object_value) const {
  std::vector<Spot> spots;
  for (TrailId trail = at(object_value).trail; trail != kNoTrail; trail = trails_[trail].outer) {
    const Node call = trails_[trail].call;
    if (call) spots.push_back({call.code, call.range(), qualified_name(call)});
  }
  return spots;
}

void Evaluator::construct(ValueId instance) {
  Value& value = values_[instance];
  if (value.kind != Kind::instance || value.ready) return;
  value.ready = true;
  if (value.type == kNoClass || is_torch(value.type)) return;
  value.branch_depth = branch_depth_;
  value.loop_depth = static_cast<std::uint32_t>(loops_.size());
  const ValueId constructor = method(value.type, "__init__", instance);
  const Value& function = at(constructor);
  if (function.kind != Kind::function || !function.node) return;
  const Allowance allowance(*this, kBodyBudget);
  // Nothing is known of the arguments of an object that nobody was seen to make.
  const bool known = value.trail != kNoTrail;
  const std::vector<Argument> arguments = value.arguments;
  auto scope = std::make_shared<Scope>();
  Interpreter run(*this, {.code = function.node.code,
                          .scope = scope,
                          .self = instance,
                          .owner = function.type,
                          .trail = value.trail,
                          .activation = next_activation_++});
  bind_parameters(run, function.node, instance, known ? &arguments : nullptr, *scope);
  if (const Node body = function.node.field("body")) run.run(body);
}

ValueId Evaluator::import_module(const std::string& dotted, const Code& from) {
  if (!is_torch_name(dotted)) {
    if (const Code* code = library_.module(dotted, &from)) return add({.kind = Kind::file, .name = dotted, .node = code->root()});
  }
  return external(dotted);
}

ValueId Evaluator::binding(const Code& code, const Binding& bound) {
  switch (bound.kind) {
    case Binding::Kind::type:
      return type_value(class_of(bound.node));
    case Binding::Kind::function:
      return add({.kind = Kind::function, .name = std::string(bound.node.field("name").text()), .node = bound.node});
    case Binding::Kind::value:
      return Interpreter(*this, {.code = &code, .scope = std::make_shared<Scope>()}).evaluate(bound.node);
    case Binding::Kind::module:
      return import_module(bound.module, code);
    case Binding::Kind::member: {
      const std::string separator = bound.module.ends_with('.') ? "" : ".";
      const std::string dotted = bound.module + separator + bound.name;
      if (is_torch_name(bound.module)) return external(dotted);
      const Code* file = library_.module(bound.module, &code);
      if (file != nullptr) {
        if (const ValueId value = name_in(*file, bound.name); value != kUnknown) return value;
      }
      if (const Code* below = library_.module(dotted, &code)) return add({.kind = Kind::file, .name = dotted, .node = below->root()});
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
  if (values.empty()) {
    for (const Binding& star : code.star_imports()) {
      const Code* file = is_torch_name(star.module) ? nullptr : library_.module(star.module, &code);
      if (const ValueId value = file != nullptr ? name_in(*file, name) : kUnknown; value != kUnknown) values.push_back(value);
    }
  }
  return names_[{&code, name}] = any(std::move(values));
}

const Pattern& Evaluator::calls_of(Node function, ValueId self) {
  const auto [known, fresh] = patterns_.try_emplace({function.id(), self});
  Pattern& pattern = known->second;
  if (!fresh) return pattern;
  const Allowance allowance(*this, kBodyBudget);
  auto scope = std::make_shared<Scope>();
  Interpreter::Frame frame{.code = function.code, .scope = scope, .self = self, .activation = next_activation_++};
  const Node holder = function.parent() && function.parent().is("decorated_definition") ? function.parent().parent() : function.parent();
  const Node around = holder ? holder.parent() : Node{};
  if (around && around.is("class_definition")) frame.owner = class_of(around);
  const Node outer = enclosing(function, "function_definition");
  const bool nested = outer && !(around && around.is("class_definition"));
  if (nested) {
    // The names of the function around it, in which it is a closure.
    auto names = std::make_shared<Scope>();
    Interpreter maker(*this, {.code = function.code, .scope = names, .self = self, .activation = next_activation_++});
    const Node method_of = enclosing(outer, "class_definition");
    bind_parameters(maker, outer, method_of ? self : kUnknown, nullptr, *names);
    if (const Node body = outer.field("body")) maker.run(body);
    scope->outer = names;
  }
  Interpreter run(*this, frame, &pattern);
  const ClassId own = at(self).type;
  const bool bound =
      frame.owner != kNoClass && own != kNoClass && std::ranges::find(classes_[own].order, frame.owner) != classes_[own].order.end();
  bind_parameters(run, function, bound ? self : kUnknown, nullptr, *scope);
  if (const Node body = function.field("body")) run.run(body);
  run.edge(run.at_, 1);
  return pattern;
}

}  // namespace hotlens::source
