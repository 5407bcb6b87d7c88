#include <algorithm>
#include <array>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

}  // namespace

std::vector<Ref> Interpreter::order(const Ref& type) const {
  std::vector<Ref> all{type};
  for (const Ref& base : type->items) {
    if (base->kind != Kind::type) continue;
    for (const Ref& one : order(base)) {
      std::erase(all, one);
      all.push_back(one);
    }
  }
  return all;
}

Ref Interpreter::class_attribute(const Ref& type, const std::string& name, const Ref& after) {
  bool reached = !after;
  for (const Ref& one : order(type)) {
    if (reached && one->scope) {
      if (const auto found = one->scope->names.find(name); found != one->scope->names.end()) return found->second;
    }
    reached = reached || one == after;
  }
  return nullptr;
}

Ref Interpreter::bound(const Ref& found, const Ref& self) {
  if (found->kind != Kind::function) return found;
  const Node above = found->node.parent();
  const bool decorated = above && above.is("decorated_definition");
  const std::string_view decorator = decorated ? above.text().substr(0, above.text().find('\n')) : std::string_view();
  if (decorator.starts_with("@staticmethod")) return found;
  Ref made = make(*found);
  const bool of_class = decorator.starts_with("@classmethod") || decorator.starts_with("@classproperty");
  made->self = of_class && self->kind == Kind::object ? self->self : self;
  return decorator.ends_with("property") ? call_function(made, {}) : made;
}

// What an object or its class has under a name; null: nothing that was seen.
Ref Interpreter::held(const Ref& object, const std::string& name) {
  if (const Ref own = attribute_of(*object, name)) return own;
  const Ref found = object->self->kind == Kind::type ? class_attribute(object->self, name) : nullptr;
  return found ? bound(found, object) : nullptr;
}

Ref Interpreter::own_attribute(const Ref& object, const std::string& name) {
  if (object->kind == Kind::object) {
    if (const Ref found = held(object, name)) return found;
    if (name == "__class__") return object->self;
    const Ref given = object->layer.empty() ? nullptr : argument(*object, name);  // `model.fc.in_features`
    if (given) return given;
    if (name == "__dict__") {
      const Ref all = mapping_of(nullptr, object->attributes);
      all->self = object;
      return all;
    }
  }
  if (object->kind == Kind::unknown) return unknown(object->text + "." + name);
  if (object->kind == Kind::list && name == "size") return whole(std::ssize(object->items));  // an array of numpy's
  return make({.kind = Kind::method, .text = name, .self = object});
}

Ref Interpreter::attribute(const Ref& object, const std::string& name) {
  if (object->kind == Kind::external) {
    if (object->scope) {
      if (const auto found = object->scope->names.find(name); found != object->scope->names.end()) return found->second;
    }
    if (object->text == "sys" && name == "argv") {
      Ref all = list_of({});
      all->items.push_back(text_of(sources_.script.string()));
      for (const std::string& word : sources_.argv) all->items.push_back(text_of(word));
      return all;
    }
    const std::string dotted = object->text + "." + name;
    const Ref found = defined(dotted);
    return found ? found : make({.kind = Kind::external, .text = dotted});
  }
  if (object->kind == Kind::type) {
    if (const Ref found = class_attribute(object, name)) return found;
    return name == "__name__" ? text_of(object->text) : unknown(object->text + "." + name);
  }
  if (object->kind == Kind::object && object->self->kind == Kind::type) {
    if (const Ref hook = class_attribute(object->self, "__getattribute__"))
      return call(bound(hook, object), {.positional = {text_of(name)}}, object->node);
  }
  return own_attribute(object, name);
}

// As `object.name = value` does it: a class may have a say in it.
void Interpreter::give(const Ref& object, const std::string& name, const Ref& value, Node whole) {
  const Ref hook = object->self->kind == Kind::type ? class_attribute(object->self, "__setattr__") : nullptr;
  if (!hook) return give_own(object, name, value, whole);
  call(bound(hook, object), {.positional = {text_of(name), value}}, whole);
}

void Interpreter::give_own(const Ref& object, const std::string& name, const Ref& value, Node whole) {
  const Ref setter = object->self->kind == Kind::type ? class_attribute(object->self, name + ".setter") : nullptr;
  if (!setter) return set(object, name, value, whole);
  call(bound(setter, object), {.positional = {value}}, whole);
}

// What a method, and those that it calls, can read of its object, as one line.
std::string Interpreter::read_by(const Ref& function, const Ref& self, std::set<const void*>& seen) {
  const auto parameters = function->node.field("parameters").children();
  if (self->kind != Kind::object || self->self->kind != Kind::type || parameters.empty()) return written(*self);
  if (!seen.insert(function->node.id()).second) return {};
  std::set<std::string> names;
  asked_names(function->node.field("body"), names);
  std::string all;
  const auto seen_in = [&](const Ref& object, const std::string& name) -> Ref {
    if (const Ref own = attribute_of(*object, name)) return own;
    return object->self->kind == Kind::type ? class_attribute(object->self, name) : nullptr;
  };
  // What goes through all parameters reads no size of them where it asks for none: `next(p.device for p in self.parameters())`.
  constexpr std::array<std::string_view, 5> kOfModules{"parameters", "buffers", "named_parameters", "named_buffers", "training"};
  constexpr std::array<std::string_view, 8> kMeasures{"numel", "nelement", "shape", "size", "ndim", "dim", "sum", "nbytes"};
  bool measures = false;
  source::walk(function->node.field("body"), [&](Node one) {
    measures = measures || (one.is("identifier") && is_among(kMeasures, one.text()));
    return !measures;
  });
  const std::string own(parameters[0].text());
  bool whole = names.contains(own);
  for (const std::string& asked : names) {
    if (asked.starts_with("?" + own + ".")) all += asked + (seen_in(self, asked.substr(own.size() + 2)) ? " is; " : " is not; ");
    if (!asked.starts_with(own + ".")) continue;
    const std::string chain = asked.substr(own.size() + 1);
    const std::size_t dot = chain.find('.');
    const std::string name = chain.substr(0, dot);
    const Ref found = seen_in(self, name);
    const bool absent = name.starts_with("_") && is_whole(self->self);
    if (!found && !absent && name != "__class__" && (measures || !is_among(kOfModules, name))) whole = true;
    if (!found) continue;
    const bool deeper = dot != std::string::npos && found->kind == Kind::object && found->layer.empty();
    const Ref inner = deeper ? seen_in(found, chain.substr(dot + 1)) : nullptr;
    if (deeper && !inner && is_whole(found->self)) {
      all += chain + " is not; ";
    } else if (inner && inner->kind == Kind::function) {
      all += read_by(inner, found, seen);
    } else if (found->kind == Kind::function) {
      all += read_by(found, self, seen);
    } else {
      all += chain + "=" + written(inner ? *inner : *found) + "; ";
    }
  }
  return whole ? written(*self) : all;
}

// Whether all that a class derives from is known, torch.nn.Module included: what is not seen in it is not there.
bool Interpreter::is_whole(const Ref& type) const {
  return type->kind == Kind::type && std::ranges::all_of(order(type), [](const Ref& one) {
           return std::ranges::all_of(one->items, [](const Ref& base) {
             return base->kind == Kind::type ||
                    (base->kind == Kind::external && (base->text == "object" || base->text == "torch.nn.Module"));
           });
         });
}

std::string Interpreter::layer_of(const Ref& type) const {
  for (const Ref& one : order(type)) {
    for (const Ref& base : one->items) {
      if (base->kind != Kind::external) continue;
      if (base->text.starts_with("torch.nn.")) return base->text.substr(base->text.rfind('.') + 1);
      if (base->text.find("Module") != std::string::npos) return "Module";
    }
  }
  return {};
}

// `name: int = 8` of a class and of those that it derives from, bases first.
std::vector<std::string> Interpreter::fields_of(const Ref& type) const {
  std::vector<std::string> all;
  const std::vector<Ref> types = order(type);
  for (auto one = types.rbegin(); one != types.rend(); ++one) {
    const Node body = (*one)->node.field("body");
    for (const Node& statement : body.children()) {
      const auto parts = statement.children();
      if (!statement.is("expression_statement") || parts.empty() || !parts.front().is("assignment")) continue;
      const Node kind = parts.front().field("type");
      std::string name(parts.front().field("left").text());
      if (kind && !kind.text().starts_with("ClassVar") && std::ranges::find(all, name) == all.end()) all.push_back(std::move(name));
    }
  }
  return all;
}

// A dataclass, a named tuple, or what is made as one (pydantic, attrs, a decorator of a library's own).
bool Interpreter::has_fields(const Ref& type, const Arguments& given) const {
  const std::vector<Ref> types = order(type);
  if (std::ranges::any_of(types, [](const Ref& one) { return one->integer == 1; })) return true;
  const auto fields = fields_of(type);
  return std::ranges::any_of(given.named, [&](const auto& one) { return std::ranges::find(fields, one.first) != fields.end(); });
}

// The dataclass whose constructor `super().__init__` of a method of `owner` reaches; null: none.
Ref Interpreter::dataclass_after(const Ref& type, const Ref& owner) const {
  const std::vector<Ref> types = order(type);
  const auto own = std::ranges::find(types, owner);
  const auto found = std::find_if(own == types.end() ? own : own + 1, types.end(), [](const Ref& one) { return one->integer == 1; });
  return found == types.end() ? nullptr : *found;
}

// What a dataclass is given, else what stands in the class.
void Interpreter::fields(const Ref& object, const Ref& type, const Arguments& given, Node site) {
  std::size_t next = 0;
  Arguments rest;
  const auto names = fields_of(type);
  for (const std::string& name : names) {
    Ref value = named(given, name);
    if (!value && next < given.positional.size()) value = given.positional[next++];
    if (!value) value = class_attribute(type, name);
    object->attributes.emplace_back(name, value ? value : unknown(type->text + "." + name));
  }
  for (const auto& one : given.named) {
    if (std::ranges::find(names, one.first) == names.end()) rest.named.push_back(one);
  }
  const Ref after = class_attribute(type, "__post_init__");
  if (!after) return;
  ++constructing_;
  call(bound(after, object), std::move(rest), site);
  --constructing_;
}

Ref Interpreter::instantiate(const Ref& type, const Arguments& given, Node site) {
  auto object = make({.kind = Kind::object, .node = site, .self = type});
  object->layer = layer_of(type);
  object->given = given;
  if (!object->layer.empty()) add_module(object);
  const Ref init = class_attribute(type, "__init__");
  if (object->layer.empty() && !init && has_fields(type, given)) fields(object, type, given, site);
  if (init) {
    if (object->layer != "Module" && !object->layer.empty()) object->given = {};
    constructing_ += object->layer.empty() ? 0 : 1;
    call(bound(init, object), given, site);
    constructing_ -= object->layer.empty() ? 0 : 1;
  } else if (object->layer == "Sequential" || object->layer == "ModuleList") {
    fill(object, given, site);
  }
  return object;
}

void Interpreter::set(const Ref& object, const std::string& name, const Ref& value, Node whole) {
  object->attached[name] = whole;
  for (auto& [one, held] : object->attributes) {
    if (one == name) {
      held = value;
      return;
    }
  }
  object->attributes.emplace_back(name, value);
}

void Interpreter::fill(const Ref& container, const Arguments& given, Node site) {
  std::vector<Ref> items = given.positional;
  if (items.size() == 1 && items[0]->kind == Kind::mapping) {
    for (std::size_t at = 0; at < items[0]->items.size(); ++at) set(container, items[0]->items[at]->text, items[0]->values[at], site);
    return;
  }
  // OrderedDict([("name", layer), …])
  if (items.size() == 1 && items[0]->kind == Kind::object && items[0]->self->text.ends_with("OrderedDict")) {
    const auto pairs = items[0]->given.positional.empty() ? std::nullopt : entries(items[0]->given.positional[0]);
    for (const Ref& pair : pairs.value_or(std::vector<Ref>())) {
      if (pair->items.size() == 2) set(container, pair->items[0]->text, pair->items[1], site);
    }
    return;
  }
  if (items.size() == 1 && container->layer != "Sequential") {
    const auto all = entries(items[0]);
    if (!all) {
      set(container, "?", items[0], site);
      return;
    }
    items = *all;
  }
  std::size_t next = entries(container)->size();
  for (const Ref& item : items) set(container, std::to_string(next++), item, item->kind == Kind::object ? item->node : site);
}

}  // namespace hotlens::layers
