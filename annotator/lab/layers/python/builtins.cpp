#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

// "--hidden-size" as the attribute of the parsed arguments.
std::string attribute_name(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::ranges::replace(flag, '-', '_');
  return flag;
}

// Nullopt: it is not known.
std::optional<bool> is_of_builtin(const Value& value, std::string_view type) {
  constexpr std::array<std::string_view, 10> kTypes{"int",   "float", "bool",     "str",      "list",
                                                    "tuple", "dict",  "Iterable", "Sequence", "Mapping"};
  type = type.substr(type.rfind('.') + 1);
  if (std::ranges::find(kTypes, type) == kTypes.end() || value.kind == Kind::unknown || value.kind == Kind::object) return std::nullopt;
  const bool several = value.kind == Kind::list || value.kind == Kind::tuple, mapping = value.kind == Kind::mapping;
  if (type == "Iterable") return several || mapping || value.kind == Kind::text;
  if (type == "Sequence") return several || value.kind == Kind::text;
  if (type == "int") return value.kind == Kind::integer || value.kind == Kind::boolean;
  if (type == "float") return value.kind == Kind::real;
  if (type == "bool") return value.kind == Kind::boolean;
  if (type == "str") return value.kind == Kind::text;
  if (type == "list") return value.kind == Kind::list;
  return type == "tuple" ? value.kind == Kind::tuple : mapping;
}

// Whether torch's own layers have no such private attribute.
bool has_no(std::string_view name) {
  constexpr std::array<std::string_view, 3> kPrivate{"_parameters", "_buffers", "_modules"};
  return name.starts_with("_") && name.find("hook") == std::string_view::npos && std::ranges::find(kPrivate, name) == kPrivate.end();
}

}  // namespace

Ref Interpreter::parse_arguments(const Ref& parser) {
  auto parsed = make({.kind = Kind::object, .self = parser->self});
  std::size_t next = 0;
  std::vector<std::string> loose;
  for (std::size_t at = 0; at < sources_.argv.size(); ++at) {
    if (!sources_.argv[at].starts_with("-")) loose.push_back(sources_.argv[at]);
    if (sources_.argv[at].starts_with("-") && sources_.argv[at].find('=') == std::string::npos) ++at;
  }
  for (const Ref& added : parser->items) {
    if (added->given.positional.empty()) continue;
    const Ref type = named(added->given, "type"), otherwise = named(added->given, "default"), action = named(added->given, "action");
    std::string flag;
    std::optional<std::string> found;
    for (const Ref& one : added->given.positional) {
      if (flag.empty() || one->text.starts_with("--")) flag = one->text;
      for (std::size_t at = 0; at < sources_.argv.size(); ++at) {
        if (sources_.argv[at] == one->text) found = at + 1 < sources_.argv.size() ? sources_.argv[at + 1] : "";
        if (sources_.argv[at].starts_with(one->text + "=")) found = sources_.argv[at].substr(one->text.size() + 1);
      }
    }
    if (!flag.starts_with("-") && next < loose.size()) found = loose[next++];
    const Ref dest = named(added->given, "dest");
    Ref value = otherwise ? otherwise : none();
    if (action && action->text.starts_with("store_")) {
      value = boolean_value(found.has_value() == (action->text == "store_true"));
    } else if (found) {
      value = type ? call(type, {.positional = {text_of(*found)}}, added->node) : text_of(*found);
    }
    parsed->attributes.emplace_back(dest ? dest->text : attribute_name(flag), value);
  }
  return parsed;
}

// `torch.linspace(0, rate, depth)`: its numbers; null: they are not known.
Ref Interpreter::spaced(const std::vector<Ref>& with) {
  if (with.size() != 3 || with[2]->kind != Kind::integer || with[2]->integer < 0) return nullptr;
  const auto begin = real_of(*with[0]), end = real_of(*with[1]);
  const std::int64_t count = with[2]->integer;
  if (!begin || !end || !spend(static_cast<std::size_t>(count))) return nullptr;
  Ref all = list_of({});
  for (std::int64_t at = 0; at < count; ++at)
    all->items.push_back(real(count == 1 ? *begin : *begin + (*end - *begin) * static_cast<double>(at) / static_cast<double>(count - 1)));
  return all;
}

// `np.fromstring("13-512-64", dtype=int, sep="-")`; null: they are not known.
Ref Interpreter::numbers_in(const Arguments& given) {
  const Ref between = named(given, "sep"), type = named(given, "dtype");
  const bool known = given.positional.size() == 1 && given.positional[0]->kind == Kind::text && between && between->kind == Kind::text;
  const Ref parts = known && type && type->text == "int" ? of_text(given.positional[0], "split", {between}) : nullptr;
  if (!parts) return nullptr;
  for (Ref& part : parts->items) {
    part = builtin("int", {.positional = {part}}, {});
    if (!part) return nullptr;
  }
  return parts;
}

// `layers.insert(0, layer)`: those behind it get the next number.
void Interpreter::insert_layer(const Ref& container, std::int64_t at, const Ref& layer, Node site) {
  std::vector<Ref> items = *entries(container);
  const std::int64_t place = std::clamp<std::int64_t>(at < 0 ? at + std::ssize(items) : at, 0, std::ssize(items));
  items.insert(items.begin() + place, layer);
  for (std::size_t number = 0; number < items.size(); ++number)
    set(container, std::to_string(number), items[number], items[number]->kind == Kind::object ? items[number]->node : site);
}

// What changes a list, or asks it for one of its entries; null: something else, or it is not known.
Ref Interpreter::of_list(const Ref& self, const std::string& name, const std::vector<Ref>& with) {
  auto& items = self->items;
  const auto place = [&](std::size_t at) -> std::optional<std::ptrdiff_t> {
    if (at >= with.size()) return std::ssize(items) - 1;
    if (with[at]->kind != Kind::integer) return std::nullopt;
    return std::clamp<std::int64_t>(with[at]->integer < 0 ? with[at]->integer + std::ssize(items) : with[at]->integer, 0,
                                    std::ssize(items));
  };
  if (name == "reverse" && with.empty()) {
    std::ranges::reverse(items);
    return none();
  }
  if (name == "append" && with.size() == 1) {
    items.push_back(with[0]);
    return none();
  }
  if (name == "insert" && with.size() == 2 && place(0)) {
    items.insert(items.begin() + *place(0), with[1]);
    return none();
  }
  if (name == "pop" && with.size() <= 1 && place(0) && *place(0) >= 0 && *place(0) < std::ssize(items)) {
    const Ref gone = items[static_cast<std::size_t>(*place(0))];
    items.erase(items.begin() + *place(0));
    return gone;
  }
  if (name == "copy" && with.empty()) return list_of(items);
  if (name == "tolist") return self;
  const auto more = name == "extend" && with.size() == 1 ? entries(with[0]) : std::nullopt;
  if (!more || !spend(more->size())) return nullptr;
  items.insert(items.end(), more->begin(), more->end());
  return none();
}

Ref Interpreter::builtin(const std::string& name, const Arguments& given, Node site) {
  const auto& with = given.positional;
  const auto whole_at = [&](std::size_t at) { return at < with.size() && with[at]->kind == Kind::integer; };
  if (name == "range" && !with.empty() && std::ranges::all_of(with, [](const Ref& one) { return one->kind == Kind::integer; })) {
    const std::int64_t begin = with.size() > 1 ? with[0]->integer : 0, end = with[with.size() > 1 ? 1 : 0]->integer;
    const std::int64_t step = with.size() > 2 ? with[2]->integer : 1;
    Ref all = list_of({});
    for (std::int64_t at = begin; step != 0 && (step > 0 ? at < end : at > end) && spend(); at += step) all->items.push_back(whole(at));
    return all;
  }
  if (name == "int" && with.size() == 1) {
    if (with[0]->kind == Kind::integer || with[0]->kind == Kind::boolean) return whole(with[0]->integer);
    if (with[0]->kind == Kind::real && std::abs(with[0]->real) < 0x1p62) return whole(static_cast<std::int64_t>(with[0]->real));
    if (with[0]->kind == Kind::text && !with[0]->text.empty() && with[0]->text.find_first_not_of("0123456789") == std::string::npos &&
        with[0]->text.size() < 16)
      return whole(std::stoll(with[0]->text));
  }
  if (name == "float" && with.size() == 1 && (with[0]->kind == Kind::integer || with[0]->kind == Kind::real))
    return real(with[0]->kind == Kind::real ? with[0]->real : static_cast<double>(with[0]->integer));
  if (name == "float" && with.size() == 1 && with[0]->kind == Kind::text) return real(std::strtod(with[0]->text.c_str(), nullptr));
  if (name == "str" && with.size() == 1 && (whole_at(0) || with[0]->kind == Kind::text))
    return text_of(whole_at(0) ? written(*with[0]) : with[0]->text);
  if ((name == "max" || name == "min") && with.size() == 2 && whole_at(0) && whole_at(1))
    return whole(name == "max" ? std::max(with[0]->integer, with[1]->integer) : std::min(with[0]->integer, with[1]->integer));
  if ((name == "max" || name == "min") && with.size() == 2 && real_of(*with[0]) && real_of(*with[1]))
    return real(name == "max" ? std::max(*real_of(*with[0]), *real_of(*with[1])) : std::min(*real_of(*with[0]), *real_of(*with[1])));
  if ((name == "math.ceil" || name == "math.floor") && with.size() == 1 && real_of(*with[0]) && std::abs(*real_of(*with[0])) < 0x1p62)
    return whole(static_cast<std::int64_t>(name == "math.ceil" ? std::ceil(*real_of(*with[0])) : std::floor(*real_of(*with[0]))));
  if (name == "round" && with.size() == 1 && real_of(*with[0]) && std::abs(*real_of(*with[0])) < 0x1p62)
    return whole(static_cast<std::int64_t>(std::nearbyint(*real_of(*with[0]))));
  if ((name == "cast" || name == "typing.cast") && with.size() == 2) return with[1];
  if (name == "copy.copy" && with.size() == 1 && with[0]->kind == Kind::object && with[0]->layer.empty()) return make(*with[0]);
  if (name == "math.sqrt" && whole_at(0)) return real(std::sqrt(static_cast<double>(with[0]->integer)));
  if (const Ref known = of_objects(name, with, site)) return known;
  if (name == "field" || name == "dataclasses.field") {
    if (const Ref otherwise = named(given, "default")) return otherwise;
    if (const Ref factory = named(given, "default_factory")) return call(factory, {}, site);
  }
  if (name == "print") return none();
  if (name == "bool" && with.size() == 1) {
    if (const auto holds = truth(with[0])) return boolean_value(*holds);
  }
  if (name == "itertools.repeat" && with.size() == 2 && whole_at(1) && with[1]->integer >= 0 &&
      spend(static_cast<std::size_t>(with[1]->integer)))
    return list_of(std::vector<Ref>(static_cast<std::size_t>(with[1]->integer), with[0]));
  if (name == "torch.linspace") return spaced(with);
  if (name == "numpy.fromstring") return numbers_in(given);
  if (name == "type" && with.size() == 1 && with[0]->kind == Kind::object) return with[0]->self;
  if ((name == "dict" || name == "OrderedDict" || name == "collections.OrderedDict") && with.size() <= 1 && given.complete)
    return mapping_of(with.empty() ? nullptr : with[0], given.named);
  const auto items = with.empty() ? std::nullopt : entries(with[0]);
  if (!items) return nullptr;
  if (name == "len") return whole(std::ssize(*items));
  if (name == "all" || name == "any") {
    for (const Ref& one : *items) {
      const auto holds = truth(one);
      if (!holds) return nullptr;
      if (*holds == (name == "any")) return boolean_value(name == "any");
    }
    return boolean_value(name == "all");
  }
  if (name == "tuple") return make({.kind = Kind::tuple, .items = *items});
  constexpr std::array<std::string_view, 6> kLists{"list", "iter", "set", "numpy.array", "numpy.asarray", "frozenset"};
  if (std::ranges::find(kLists, name) != kLists.end()) return list_of(*items);
  if (name == "sorted" && with.size() == 1 && given.named.empty() &&
      std::ranges::all_of(*items, [](const Ref& one) { return real_of(*one).has_value(); })) {
    Ref all = list_of(*items);
    std::ranges::stable_sort(all->items, {}, [](const Ref& one) { return *real_of(*one); });
    return all;
  }
  if (name == "reversed") return list_of({items->rbegin(), items->rend()});
  if (name == "sum") {
    Ref sum = whole(0);
    for (const Ref& one : *items) sum = binary("+", sum, one);
    return sum;
  }
  if (name == "enumerate" || name == "zip") {
    std::vector<std::vector<Ref>> columns{*items};
    if (name == "enumerate") columns.insert(columns.begin(), builtin("range", {.positional = {whole(std::ssize(*items))}}, site)->items);
    for (std::size_t at = 1; name == "zip" && at < with.size(); ++at) {
      const auto more = entries(with[at]);
      if (!more) return nullptr;
      columns.push_back(*more);
    }
    Ref all = list_of({});
    const std::size_t rows = std::ranges::min(columns, {}, &std::vector<Ref>::size).size();
    for (std::size_t row = 0; row < rows; ++row) {
      Ref tuple = list_of({});
      tuple->kind = Kind::tuple;
      for (const auto& column : columns) tuple->items.push_back(column[row]);
      all->items.push_back(tuple);
    }
    return all;
  }
  return nullptr;
}

// Of an object and a name, or a class.
Ref Interpreter::of_objects(const std::string& name, const std::vector<Ref>& with, Node site) {
  if (with.size() < 2) return nullptr;
  const Ref& object = with[0];
  const bool known = object->kind == Kind::object && object->self->kind == Kind::type;
  if (name == "isinstance" && known && with[1]->kind == Kind::type) {
    const auto types = order(object->self);
    if (std::ranges::find(types, with[1]) != types.end()) return boolean_value(true);
    return is_whole(object->self) ? boolean_value(false) : nullptr;
  }
  const bool module = object->kind == Kind::object && !object->layer.empty();
  if (name == "isinstance" && is_plain(*object) && with[1]->text.starts_with("torch.")) return boolean_value(false);
  if (name == "isinstance" && module && with[1]->kind == Kind::external && with[1]->text.starts_with("torch.nn.")) {
    const std::string wanted = with[1]->text.substr(with[1]->text.rfind('.') + 1);
    if (wanted == "Module" || wanted == object->layer) return boolean_value(true);
    if (object->self->kind == Kind::external && constructor_parameters(wanted).size() + constructor_parameters(object->layer).size() > 0)
      return boolean_value(false);
  }
  if (name == "isinstance" && with[1]->text == "functools.partial") {
    if (object->kind == Kind::object) return boolean_value(object->self->text == with[1]->text);
    return object->kind == Kind::unknown ? nullptr : boolean_value(false);
  }
  if (name == "isinstance" && with[1]->kind == Kind::external) {
    const auto holds = is_of_builtin(*object, with[1]->text);
    return holds ? boolean_value(*holds) : nullptr;
  }
  if (with[1]->kind != Kind::text) return nullptr;
  if (name == "setattr" && with.size() == 3 && object->kind == Kind::object) {
    give(object, with[1]->text, with[2], site);
    return none();
  }
  if (name == "hasattr" && known) {
    if (held(object, with[1]->text)) return boolean_value(true);
    return is_whole(object->self) ? boolean_value(false) : nullptr;
  }
  if (name != "getattr") return nullptr;
  const Ref type = object->kind == Kind::type ? object : known ? object->self : nullptr;
  const Ref found = attribute(object, with[1]->text);
  const bool absent = object->kind == Kind::type ? found->kind == Kind::unknown : found->kind == Kind::method;
  const bool torchs = object->kind == Kind::object && object->self->kind == Kind::external && !object->layer.empty();
  const bool whole = type != nullptr ? is_whole(type) : torchs && has_no(with[1]->text);
  return absent && with.size() == 3 && whole ? with[2] : found;
}

// `dict(pairs, **named)`; null: it is not known what is in it.
Ref Interpreter::mapping_of(const Ref& from, const std::vector<std::pair<std::string, Ref>>& named) {
  Ref all = from != nullptr && from->kind == Kind::mapping ? make(*from) : make({.kind = Kind::mapping});
  const auto pairs = from == nullptr || from->kind == Kind::mapping ? std::optional(std::vector<Ref>()) : entries(from);
  if (!pairs) return nullptr;
  for (const Ref& pair : *pairs) {
    if (pair->items.size() != 2) return nullptr;
    put(all, pair->items[0], pair->items[1]);
  }
  for (const auto& [key, value] : named) put(all, text_of(key), value);
  return all;
}

Ref Interpreter::children_of(const Ref& module, bool with_names) {
  Ref all = list_of({});
  for (const auto& [name, value] : module->attributes) {
    if (value->kind != Kind::object || value->layer.empty()) continue;
    Ref pair = list_of({text_of(name), value});
    pair->kind = Kind::tuple;
    all->items.push_back(with_names ? pair : value);
  }
  return all;
}

// `mapping[key] = value`.
void Interpreter::put(const Ref& mapping, const Ref& key, const Ref& value) {
  if (const auto at = place_of(*mapping, *key)) {
    mapping->values[*at] = value;
  } else {
    mapping->items.push_back(key);
    mapping->values.push_back(value);
  }
}

Ref Interpreter::of_text(const Ref& self, const std::string& name, const std::vector<Ref>& with) {
  const std::string& text = self->text;
  if (with.empty() && (name == "lower" || name == "upper")) {
    std::string other = text;
    std::ranges::transform(other, other.begin(),
                           [&](unsigned char one) { return static_cast<char>(name == "lower" ? std::tolower(one) : std::toupper(one)); });
    return text_of(std::move(other));
  }
  if (with.size() != 1 || with[0]->kind != Kind::text || with[0]->text.empty()) return nullptr;
  const std::string& part = with[0]->text;
  if (name == "startswith") return boolean_value(text.starts_with(part));
  if (name == "endswith") return boolean_value(text.ends_with(part));
  if (name != "split" || !spend(text.size())) return nullptr;
  Ref all = list_of({});
  std::size_t at = 0;
  for (std::size_t end = text.find(part); end != std::string::npos; end = text.find(part, at)) {
    all->items.push_back(text_of(text.substr(at, end - at)));
    at = end + part.size();
  }
  all->items.push_back(text_of(text.substr(at)));
  return all;
}

Ref Interpreter::of_mapping(const Ref& self, const std::string& name, const Arguments& given) {
  const auto& with = given.positional;
  if (with.empty() && (name == "items" || name == "values" || name == "keys")) {
    if (name != "items") return list_of(name == "keys" ? self->items : self->values);
    Ref all = list_of({});
    for (std::size_t at = 0; at < self->items.size(); ++at) {
      Ref pair = list_of({self->items[at], self->values[at]});
      pair->kind = Kind::tuple;
      all->items.push_back(pair);
    }
    return all;
  }
  if (with.empty() && name == "copy") return make(*self);
  if (name == "update" && with.size() == 1 && with[0]->kind == Kind::mapping) {
    for (std::size_t at = 0; at < with[0]->items.size(); ++at) put(self, with[0]->items[at], with[0]->values[at]);
    return none();
  }
  if (with.empty() || !is_plain(*with[0])) return nullptr;
  const auto at = place_of(*self, *with[0]);
  if (name == "setdefault" && with.size() == 2) {
    if (at) return self->values[*at];
    put(self, with[0], with[1]);
    return with[1];
  }
  if (name != "get" && name != "pop") return nullptr;
  if (!at) return with.size() > 1 ? with[1] : name == "get" ? none() : nullptr;
  const Ref found = self->values[*at];
  if (name == "pop") {
    self->items.erase(self->items.begin() + static_cast<std::ptrdiff_t>(*at));
    self->values.erase(self->values.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  return found;
}

Ref Interpreter::method(const Ref& self, const std::string& name, const Arguments& given, Node site) {
  constexpr std::array<std::string_view, 9> kThemselves{"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "requires_grad_"};
  if (self->kind == Kind::object && !self->layer.empty()) {
    if (std::ranges::find(kThemselves, name) != kThemselves.end()) return self;
    const auto& with = given.positional;
    if ((name == "children" || name == "named_children") && with.empty()) return children_of(self, name == "named_children");
    if (name == "append" && with.size() == 1) {
      set(self, std::to_string(entries(self).value_or(std::vector<Ref>()).size()), with[0], site);
      return self;
    }
    if (name == "extend" && with.size() == 1) {
      fill(self, given, site);
      return self;
    }
    if (name == "insert" && with.size() == 2 && with[0]->kind == Kind::integer && entries(self)) {
      insert_layer(self, with[0]->integer, with[1], site);
      return none();
    }
    if ((name == "add_module" || name == "register_module" || name == "register_buffer" || name == "register_parameter") &&
        with.size() >= 2 && with[0]->kind == Kind::text) {
      set(self, with[0]->text, with[1], site);
      return none();
    }
  }
  if (self->kind == Kind::object && self->layer.empty()) {
    if (const Ref other = reshaped(self, name, given)) return other;
  }
  if (self->kind == Kind::object && self->self->text.ends_with("ArgumentParser")) {
    if (name == "add_argument") {
      self->items.push_back(make({.kind = Kind::object, .node = site, .self = self->self, .given = given}));
      return none();
    }
    if (name == "parse_args" && given.positional.empty()) return parse_arguments(self);
  }
  if (self->kind == Kind::list) {
    if (const Ref known = of_list(self, name, given.positional)) return known;
  }
  if ((self->kind == Kind::real || self->kind == Kind::integer) && name == "item") return self;
  if (self->kind == Kind::text) {
    if (const Ref known = of_text(self, name, given.positional)) return known;
  }
  if (self->kind == Kind::mapping) {
    if (const Ref known = of_mapping(self, name, given)) return known;
  }
  note(name, given, site);
  return unknown(written_call(written(*self) + "." + name, given));
}

}  // namespace hotlens::layers
