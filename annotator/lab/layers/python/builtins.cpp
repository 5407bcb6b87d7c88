#include <algorithm>
#include <array>
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
  Ref all = make({.kind = Kind::list, .self = make({.kind = Kind::external, .text = "torch.linspace"})});
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
  const bool logarithm = name == "math.log2" || (name == "math.log" && with.size() == 2 && whole_at(1) && with[1]->integer == 2);
  if (logarithm && whole_at(0) && with[0]->integer > 0) return real(std::log2(static_cast<double>(with[0]->integer)));
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
  const bool empty = with.empty() && given.complete && (name == "list" || name == "tuple" || name == "set");
  const auto items = empty ? std::optional(std::vector<Ref>()) : with.empty() ? std::nullopt : entries(with[0]);
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
  if ((name == "max" || name == "min") && with.size() == 1 && given.named.empty() && !items->empty() &&
      std::ranges::all_of(*items, [](const Ref& one) { return one->kind == Kind::integer; })) {
    const auto [least, most] = std::ranges::minmax(*items, {}, [](const Ref& one) { return one->integer; });
    return whole((name == "max" ? most : least)->integer);
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
  if (name == "vars" && with.size() == 1 && with[0]->kind == Kind::object) return own_attribute(with[0], "__dict__");
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

}  // namespace hotlens::layers
