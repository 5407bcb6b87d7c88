// Calls of what no source tells: builtins, torch, and the methods of lists, mappings, texts and modules.
#include <algorithm>
#include <cctype>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::any_of(ends, [&](std::string_view end) { return last == end; });
}

}  // namespace

ValueId Interpreter::call_external(const std::string& name, const std::vector<Argument>& arguments, Node site) {
  const ValueId first = arguments.empty() || arguments.front().splat ? kUnknown : arguments.front().value;
  const auto new_list = [&](Kind kind) { return e_.add({.kind = kind, .depth = e_.depth()}); };
  if (name == "getattr" && arguments.size() >= 2) {
    std::vector<ValueId> found;
    for (const ValueId one : e_.alternatives(arguments[1].value)) {
      found.push_back(e_.at(one).kind == Kind::text ? member(first, std::string(e_.at(one).name)) : kUnknown);
    }
    return e_.any(found);
  }
  if (name == "setattr" && arguments.size() == 3) {
    const Value& attribute = e_.at(arguments[1].value);
    attach(first, attribute.kind == Kind::text ? attribute.name : "*", arguments[2].value, site);
    return kUnknown;
  }
  if (ends_with_any(name, {"deepcopy", "copy"}) && arguments.size() == 1) {
    std::vector<ValueId> copies;
    for (const ValueId one : e_.alternatives(first)) {
      Value copy = e_.at(e_.object(one));
      if (copy.kind == Kind::instance) copy.trail = trail_to(site);
      copies.push_back(e_.add(std::move(copy)));
    }
    return e_.any(copies);
  }
  if (ends_with_any(name, {"partial"}) && !arguments.empty()) {
    Value partial{.kind = Kind::partial, .inner = first};
    partial.arguments.assign(arguments.begin() + 1, arguments.end());
    return e_.add(std::move(partial));
  }
  if (ends_with_any(name, {"OrderedDict", "dict"})) {
    const ValueId map = new_list(Kind::mapping);
    for (const Argument& one : arguments) {
      if (!one.name.empty() && !one.splat) fill(map, one.value, one.name, site);
    }
    if (first != kUnknown && arguments.front().name.empty()) fill_pairs(map, first, site);
    return map;
  }
  if (name == "list" || name == "tuple" || name == "iter" || name == "set") {
    const ValueId list = new_list(Kind::list);
    if (first != kUnknown) fill_all(list, first, site);
    return list;
  }
  if (name == "enumerate" || name == "zip") {
    const ValueId row = new_list(Kind::list), rows = new_list(Kind::list);
    if (name == "enumerate") fill(row, e_.add({.kind = Kind::constant}), "", site);
    for (const Argument& one : arguments) {
      if (name == "enumerate" && &one != &arguments.front()) break;
      fill(row, one.splat ? kUnknown : element_of(one.value), "", site);
    }
    if (std::ranges::any_of(arguments, &Argument::splat)) return kUnknown;
    fill(rows, row, "", site);
    return rows;
  }
  if (name == "reversed" || name == "sorted") {
    const ValueId list = new_list(Kind::list);
    fill_all(list, first, site);
    for (Slot& slot : e_.values_[list].entries) slot.optional = true;
    std::ranges::reverse(e_.values_[list].entries);
    if (name == "sorted") forget_order(list);
    return list;
  }
  if (name == "str") return e_.add({.kind = Kind::text, .name = e_.at(first).kind == Kind::text ? e_.at(first).name : "*"});
  if (name == "next") return element_of(first);
  if (name == "type" && arguments.size() == 1) return kUnknown;
  if (name == "importlib.import_module" && e_.at(first).kind == Kind::text && e_.at(first).name.find('*') == std::string::npos)
    return e_.import_module(e_.at(first).name, *frame_.code);
  if (name == "__import__" || name == "eval" || name == "globals" || name == "locals" || name == "vars") return kUnknown;
  if (name == "map" && pattern_ == nullptr && arguments.size() >= 2) return mapped(arguments, site);
  if (name == "filter" && arguments.size() == 2) {
    const ValueId list = new_list(Kind::list);
    fill_all(list, arguments[1].value, site);
    for (Slot& slot : e_.values_[list].entries) slot.optional = true;
    return list;
  }
  if (name.starts_with("torch.nn.utils.parametriz")) return parametrized(first, site);
  if (name.starts_with("torch.nn.utils")) return first;  // weight_norm and its like give back what they are given
  if (name.starts_with("torch.nn.") && names_class(name) && name.find("functional") == std::string::npos &&
      name.find(".init.") == std::string::npos) {
    return instantiate(e_.external_class(name), arguments, site);
  }
  if (name.find('.') != std::string::npos && !name.starts_with("torch.") && names_class(name)) {
    return instantiate(e_.external_class(name), arguments, site);
  }
  const bool builtin = name.find('.') == std::string::npos && !names_class(name);  // a class from where nobody could look
  return builtin || name.starts_with("torch.") ? e_.add({.kind = Kind::constant}) : kUnknown;
}

// `map(make, items)`: what each call gives.
ValueId Interpreter::mapped(const std::vector<Argument>& arguments, Node site) {
  const ValueId list = e_.add({.kind = Kind::list, .depth = e_.depth()});
  std::vector<Argument> given;
  for (auto one = arguments.begin() + 1; one != arguments.end(); ++one) given.push_back({.value = element_of(one->value)});
  e_.loops_.push_back({.id = e_.next_loop_++});
  fill(list, call(arguments.front().value, given, site), "", site);
  e_.loops_.pop_back();
  return list;
}

// Any key of a mapping; '*' where one of them is not known.
ValueId Interpreter::any_key(ValueId mapping) {
  const std::vector<Slot> entries = e_.at(mapping).entries;
  const bool known = std::ranges::all_of(entries, [](const Slot& slot) { return slot.name.find('*') == std::string::npos; });
  if (entries.empty() || !known) return e_.add({.kind = Kind::text, .name = "*"});
  std::vector<ValueId> keys;
  for (const Slot& slot : entries) keys.push_back(e_.add({.kind = Kind::text, .name = slot.name}));
  return e_.any(keys);
}

// The module itself, which is of a class of its own from then on: torch puts the parametrization in.
ValueId Interpreter::parametrized(ValueId module, Node site) {
  std::vector<ValueId> values;
  for (const ValueId one : e_.alternatives(module)) {
    Value value = e_.at(e_.object(one));
    if (value.kind == Kind::instance) value.spot = spot(site);
    values.push_back(value.kind == Kind::instance ? e_.add(std::move(value)) : one);
  }
  return e_.any(values);
}

ValueId Interpreter::call_method(const Value& method, const std::vector<Argument>& arguments, Node site) {
  if (method.of == kUnknown && method.name == "__init__" && !arguments.empty()) {  // nn.Module.__init__(self, …)
    std::vector<Argument> rest(arguments.begin() + 1, arguments.end());
    return call_method({.kind = Kind::method, .name = "__init__", .of = e_.object(arguments.front().value)}, rest, site);
  }
  const ValueId of = method.of;
  const Value& holder = e_.at(of);
  const Container kind = holder.kind == Kind::instance ? e_.container(holder.type) : Container::none;
  const bool list = holder.kind == Kind::list || kind == Container::list || kind == Container::sequential;
  const bool mapping = holder.kind == Kind::mapping || kind == Container::mapping;
  const ValueId first = arguments.empty() ? kUnknown : arguments.front().value;
  const std::string& name = method.name;
  if (holder.kind == Kind::text) {
    if (name == "format") return e_.add({.kind = Kind::text, .name = with_holes(holder.name, false)});
    if (name == "join") return e_.add({.kind = Kind::text, .name = "*"});
    return e_.add({.kind = Kind::constant});
  }
  if ((name == "add_module" || name == "register_module") && arguments.size() == 1 && arguments.front().splat) {
    for (const ValueId pair : e_.alternatives(first)) {
      const Value& row = e_.at(e_.object(pair));
      const bool fixed = row.kind == Kind::list && row.entries.size() == 2;
      const ValueId text = fixed ? row.entries[0].value : kUnknown;
      attach(of, e_.at(text).kind == Kind::text ? e_.at(text).name : "*", fixed ? row.entries[1].value : kUnknown, site);
    }
    return kUnknown;
  }
  if ((name == "add_module" || name == "register_module") && arguments.size() == 2) {
    const std::optional<std::string> called = entry_name(first, arguments[1].value);
    if (list || mapping) {
      fill(of, arguments[1].value, called.value_or("**"), called ? site : Node{});
    } else {
      attach(of, called.value_or("*"), arguments[1].value, site);
    }
    return kUnknown;
  }
  if (name == "__getitem__") return holder.entries.empty() ? kUnknown : e_.add({.kind = Kind::element, .of = of, .ordered = false});
  if (name == "__init__") {
    for (const Argument& one : arguments) {
      const Value& given = e_.at(e_.object(one.value));
      if (one.splat || given.kind == Kind::mapping || kind == Container::list) {
        fill_all(of, one.value, site);
      } else if (kind == Container::sequential) {
        fill(of, one.value, "", one.node ? one.node : site);
      } else if (kind == Container::mapping) {
        fill_pairs(of, one.value, site);
      }
    }
    return kUnknown;
  }
  if (list && name != "pop" && change_list(of, name, arguments, site)) return of;
  if ((list && name == "extend") || (mapping && name == "update")) {
    fill_all(of, first, site);
    return of;
  }
  if (mapping && name == "get" && !arguments.empty()) {
    const Value& key = e_.at(first);
    for (const Slot& slot : holder.entries) {
      if (key.kind == Kind::text && slot.name == key.name) return slot.value;
    }
    return e_.add({.kind = Kind::element, .of = of, .ordered = false});
  }
  if (name == "children" || (mapping && name == "values")) return of;
  if (name == "pop" && list) {
    Value before = e_.at(of);
    const ValueId out = e_.add({.kind = Kind::list});
    e_.values_[out].entries = before.entries;
    change_list(of, name, arguments, site);
    return e_.add({.kind = Kind::element, .of = out, .ordered = false});
  }
  if (mapping && name == "items") {
    const ValueId row = e_.add({.kind = Kind::list}), rows = e_.add({.kind = Kind::list});
    fill(row, any_key(of), "", site);
    fill(row, e_.add({.kind = Kind::element, .of = of}), "", site);
    fill(rows, row, "", site);
    return rows;
  }
  const bool chained = name == "to" || name == "eval" || name == "train" || name == "requires_grad_" || name == "cuda" || name == "cpu" ||
                       name == "apply" || name == "half" || name == "float";
  if (chained && holder.kind == Kind::instance) return of;
  return kUnknown;
}

}  // namespace hotlens::guess
