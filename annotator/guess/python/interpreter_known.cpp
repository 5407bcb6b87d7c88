// Calls of what no source tells: builtins, torch, and the methods of lists, mappings, texts and modules. One function for each, by name.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

// `of`: the object whose method is called.
struct KnownCall {
  const std::vector<Argument>& arguments;
  Node site;
  ValueId of = kUnknown;

  ValueId argument(std::size_t i) const { return i < arguments.size() && !arguments[i].splat ? arguments[i].value : kUnknown; }
};

// Builtins that may give a module.
constexpr std::array kNotFollowed{"__import__", "eval", "globals", "locals", "vars", "type", "sorted", "reversed", "next"};

using Handler = ValueId (*)(Interpreter&, const KnownCall&);
using Handlers = std::unordered_map<std::string_view, Handler>;

}  // namespace

struct KnownCalls {
  static ValueId the_object(Interpreter&, const KnownCall& call) { return call.of; }

  static ValueId get_attribute(Interpreter& at, const KnownCall& call) {
    std::vector<ValueId> found;
    for (const ValueId name : at.e_.alternatives(call.argument(1))) {
      found.push_back(at.e_.at(name).kind == Kind::text ? at.member(call.argument(0), std::string(at.e_.at(name).name)) : kUnknown);
    }
    return at.e_.any(found);
  }

  static ValueId set_attribute(Interpreter& at, const KnownCall& call) {
    if (call.arguments.size() == 3) at.attach(call.argument(0), at.text_of(call.argument(1)), call.argument(2), call.site);
    return kUnknown;
  }

  static ValueId copy(Interpreter& at, const KnownCall& call) {
    std::vector<ValueId> copies;
    for (const ValueId one : at.e_.alternatives(call.argument(0))) {
      Value made = at.e_.what(one);
      if (made.kind == Kind::instance) made.trail = at.trail_to(call.site);
      copies.push_back(at.e_.add(std::move(made)));
    }
    return at.e_.any(copies);
  }

  static ValueId partial(Interpreter& at, const KnownCall& call) {
    if (call.arguments.empty()) return kUnknown;
    return at.e_.add({.kind = Kind::partial, .inner = call.argument(0), .arguments = {call.arguments.begin() + 1, call.arguments.end()}});
  }

  static ValueId mapping(Interpreter& at, const KnownCall& call) {
    const ValueId map = at.new_list(Kind::mapping);
    for (const Argument& one : call.arguments) {
      if (!one.name.empty() && !one.splat) at.fill(map, one.value, one.name, call.site);
    }
    const ValueId first = call.argument(0);
    if (first != kUnknown && call.arguments.front().name.empty()) at.fill_pairs(map, first, call.site);
    return map;
  }

  static ValueId list(Interpreter& at, const KnownCall& call) {
    const ValueId made = at.new_list();
    if (call.argument(0) != kUnknown) at.fill_all(made, call.argument(0), call.site);
    return made;
  }

  // A list of one row that every pass of a loop over it sees.
  static ValueId rows_of(Interpreter& at, const std::vector<ValueId>& columns, Node site) {
    const ValueId row = at.new_list(), rows = at.new_list();
    for (const ValueId column : columns) at.fill(row, column, "", site);
    at.fill(rows, row, "", site);
    return rows;
  }

  static ValueId enumerate(Interpreter& at, const KnownCall& call) {
    return rows_of(at, {at.number(), at.element_of(call.argument(0))}, call.site);
  }

  static ValueId zip(Interpreter& at, const KnownCall& call) {
    std::vector<ValueId> columns;
    for (const Argument& one : call.arguments) columns.push_back(at.element_of(one.value));
    return std::ranges::any_of(call.arguments, &Argument::splat) ? kUnknown : rows_of(at, columns, call.site);
  }

  static ValueId filter(Interpreter& at, const KnownCall& call) {
    const ValueId made = at.new_list();
    at.fill_all(made, call.argument(1), call.site);
    for (Slot& slot : at.entries(made)) slot.optional = true;
    return made;
  }

  static ValueId text(Interpreter& at, const KnownCall& call) {
    return at.e_.add({.kind = Kind::text, .name = at.text_of(call.argument(0))});
  }

  static ValueId format(Interpreter& at, const KnownCall& call) {
    return at.e_.add({.kind = Kind::text, .name = before_hole(at.e_.at(call.of).name, '{')});
  }

  static ValueId any_entry(Interpreter& at, const KnownCall& call) {
    return at.e_.at(call.of).entries.empty() ? kUnknown : at.e_.add({.kind = Kind::element, .of = call.of});
  }

  static ValueId extend(Interpreter& at, const KnownCall& call) {
    at.fill_all(call.of, call.argument(0), call.site);
    return call.of;
  }

  // Any key of a mapping; '*' where one of them is not known.
  static ValueId any_key(Interpreter& at, ValueId mapping) {
    const std::vector<Slot> slots = at.e_.at(mapping).entries;
    std::vector<ValueId> keys;
    for (const Slot& slot : slots) keys.push_back(at.e_.add({.kind = Kind::text, .name = slot.name}));
    const bool known = std::ranges::all_of(slots, [](const Slot& slot) { return slot.name.find('*') == std::string::npos; });
    return known && !keys.empty() ? at.e_.any(keys) : at.e_.add({.kind = Kind::text, .name = "*"});
  }

  static ValueId items(Interpreter& at, const KnownCall& call) {
    return rows_of(at, {any_key(at, call.of), at.e_.add({.kind = Kind::element, .of = call.of})}, {});
  }

  static ValueId append(Interpreter& at, const KnownCall& call) {
    if (!call.arguments.empty()) at.fill(call.of, call.arguments.back().value, "", call.site);
    return call.of;
  }

  static ValueId change(Interpreter& at, const KnownCall& call) {
    at.forget_order(call.of);
    return any_entry(at, call);
  }

  static ValueId insert(Interpreter& at, const KnownCall& call) {
    append(at, call);
    return change(at, call);
  }

  static ValueId shuffle(Interpreter& at, const KnownCall& call) {
    at.forget_order(call.argument(0));
    return kUnknown;
  }

  // `module.add_module(name, child)`, `module.add_module(*pair)`.
  static ValueId add_module(Interpreter& at, const KnownCall& call) {
    if (call.arguments.size() != 1) at.add_child(call.of, call.argument(0), call.argument(1), call.site);
    for (const ValueId pair : call.arguments.size() == 1 ? at.e_.alternatives(call.arguments.front().value) : std::vector<ValueId>{}) {
      const std::vector<Slot>& row = at.e_.what(pair).entries;
      at.add_child(call.of, row.size() == 2 ? row[0].value : kUnknown, row.size() == 2 ? row[1].value : kUnknown, call.site);
    }
    return kUnknown;
  }

  // What a container's constructor is given are its entries.
  static ValueId fill_container(Interpreter& at, const KnownCall& call) {
    const Container kind = at.e_.container(at.e_.at(call.of).type);
    for (const Argument& one : call.arguments) {
      if (one.splat || at.e_.what(one.value).kind == Kind::mapping || kind == Container::list) {
        at.fill_all(call.of, one.value, call.site);
      } else if (kind == Container::sequential) {
        at.fill(call.of, one.value, "", one.node ? one.node : call.site);
      } else if (kind == Container::mapping) {
        at.fill_pairs(call.of, one.value, call.site);
      }
    }
    return kUnknown;
  }

  // By the last part of their name.
  static inline const Handlers kFunctions{
      {"getattr", get_attribute},
      {"setattr", set_attribute},
      {"copy", copy},
      {"deepcopy", copy},
      {"partial", partial},
      {"OrderedDict", mapping},
      {"dict", mapping},
      {"list", list},
      {"tuple", list},
      {"iter", list},
      {"set", list},
      {"enumerate", enumerate},
      {"zip", zip},
      {"filter", filter},
      {"shuffle", shuffle},
      {"str", text},
  };

  static inline const Handlers kTextMethods{{"format", format}};
  static inline const Handlers kListMethods{{"append", append}, {"extend", extend},  {"insert", insert}, {"pop", change},
                                            {"remove", change}, {"reverse", change}, {"sort", change},   {"clear", change}};
  static inline const Handlers kMappingMethods{{"update", extend}, {"values", the_object}, {"items", items}};
  static inline const Handlers kModuleMethods{
      {"add_module", add_module}, {"register_module", add_module}, {"__init__", fill_container},
      {"__getitem__", any_entry}, {"children", the_object},        {"to", the_object},
      {"eval", the_object},       {"train", the_object},           {"cuda", the_object},
      {"cpu", the_object},        {"requires_grad_", the_object},  {"apply", the_object},
      {"half", the_object},       {"float", the_object},
  };
};

namespace {

Handler handler(const Handlers& handlers, std::string_view name) {
  const auto found = handlers.find(name);
  return found != handlers.end() ? found->second : nullptr;
}

}  // namespace

ValueId Interpreter::call_external(const std::string& name, const std::vector<Argument>& arguments, Node site) {
  const KnownCall call{.arguments = arguments, .site = site};
  if (const Handler known = handler(KnownCalls::kFunctions, last_part(name))) return known(*this, call);
  if (name.starts_with("torch.nn.utils")) return call.argument(0);  // weight_norm and its like give back what they are given
  const bool dotted = name.find('.') != std::string::npos;
  const bool function = name.find("functional") != std::string::npos || name.find(".init.") != std::string::npos;
  const bool layer = name.starts_with("torch.nn.") && !function;
  if (names_class(name) && dotted && (layer || !is_torch_name(name))) return instantiate(e_.external_class(name), arguments, site);
  const bool builtin = !dotted && !names_class(name) && !contains(kNotFollowed, name);  // a class from where nobody could look
  return builtin || is_torch_name(name) ? number() : kUnknown;
}

ValueId Interpreter::call_method(const Value& method, const std::vector<Argument>& arguments, Node site) {
  if (method.of == kUnknown && method.name == "__init__" && !arguments.empty()) {  // nn.Module.__init__(self, …)
    const std::vector<Argument> rest(arguments.begin() + 1, arguments.end());
    return call_method({.kind = Kind::method, .name = "__init__", .of = e_.object(arguments.front().value)}, rest, site);
  }
  const Value& holder = e_.at(method.of);
  const KnownCall call{.arguments = arguments, .site = site, .of = method.of};
  const Container form = e_.form(holder);
  const Handlers* own = nullptr;
  if (holder.kind == Kind::text) own = &KnownCalls::kTextMethods;
  if (form == Container::list || form == Container::sequential) own = &KnownCalls::kListMethods;
  if (form == Container::mapping) own = &KnownCalls::kMappingMethods;
  if (const Handler known = own != nullptr ? handler(*own, method.name) : nullptr) return known(*this, call);
  if (holder.kind == Kind::text) return number();
  const Handler known = handler(KnownCalls::kModuleMethods, method.name);
  return known != nullptr ? known(*this, call) : kUnknown;
}

}  // namespace hotlens::guess
