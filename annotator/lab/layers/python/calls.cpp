#include <algorithm>
#include <array>
#include <cmath>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
constexpr std::size_t kMostFacts = 20'000;

std::string words_of(const std::string& callee, const Arguments& given) {
  std::string words = callee + "(";
  for (const Ref& one : given.positional) words += written(*one) + ", ";
  for (const auto& [name, value] : given.named) words += name + "=" + written(*value) + ", ";
  return words + ")";
}

Ref named(const Arguments& given, std::string_view name) {
  const auto found = std::ranges::find(given.named, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == given.named.end() ? nullptr : found->second;
}

// "--hidden-size" as the attribute of the parsed arguments.
std::string attribute_name(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::ranges::replace(flag, '-', '_');
  return flag;
}

}  // namespace

Arguments Interpreter::arguments(Node list, Frame& frame) {
  Arguments given;
  if (list.is("generator_expression")) {
    given.positional.push_back(expression(list, frame));
    return given;
  }
  for (const Node& one : list.children()) {
    if (one.is("keyword_argument")) {
      given.named.emplace_back(std::string(one.field("name").text()), expression(one.field("value"), frame));
    } else if (one.is("list_splat")) {
      const auto items = entries(expression(one.children().front(), frame));
      given.complete = given.complete && items.has_value();
      if (items) given.positional.insert(given.positional.end(), items->begin(), items->end());
    } else if (one.is("dictionary_splat")) {
      const Ref all = expression(one.children().front(), frame);
      given.complete = given.complete && all->kind == Kind::mapping;
      for (std::size_t at = 0; all->kind == Kind::mapping && at < all->items.size(); ++at)
        given.named.emplace_back(all->items[at]->text, all->values[at]);
    } else {
      given.positional.push_back(expression(one, frame));
    }
  }
  return given;
}

Ref Interpreter::call_expression(Node node, Frame& frame) {
  const Node function = node.field("function");
  if (function.is("attribute")) {
    const Node of = function.field("object");
    // super().__init__(…): of a class of the project, else of torch.nn.
    if (of.is("call") && of.field("function").text() == "super") {
      const Ref self = frame.self;
      Arguments given = arguments(node.field("arguments"), frame);
      if (!self || self->kind != Kind::object || !frame.owner) return none();
      const std::string name(function.field("attribute").text());
      if (const Ref found = class_attribute(self->self, name, frame.owner)) return call(bound(found, self), std::move(given), node);
      if (name == "__init__" && !constructor_parameters(self->layer).empty()) self->given = std::move(given);
      if (name == "__init__" && (self->layer == "Sequential" || self->layer == "ModuleList")) fill(self, given, node);
      return none();
    }
  }
  const Ref callee = expression(function, frame);
  const Ref result = call(callee, arguments(node.field("arguments"), frame), node);
  const bool makes = callee->kind == Kind::function || callee->kind == Kind::type || callee->kind == Kind::external;
  if (makes && result->kind == Kind::object && !result->layer.empty()) built_.insert(node.id());
  return result;
}

Ref Interpreter::call(const Ref& callee, Arguments given, Node site) {
  if (!spend()) return unknown("beyond what is followed");
  const struct Deeper {
    int& depth;
    explicit Deeper(int& at) : depth(++at) {}
    ~Deeper() { --depth; }
  } deeper(depth_);
  switch (callee->kind) {
    case Kind::function:
      return call_function(callee, given);
    case Kind::type:
      return instantiate(callee, given, site);
    case Kind::external:
      return make_external(callee, std::move(given), site);
    case Kind::method:
      return method(callee->self, callee->text, given, site);
    default:
      note(callee->kind == Kind::object ? callee->layer : callee->text.substr(callee->text.rfind('.') + 1), given, site);
      return unknown(words_of(written(*callee), given));
  }
}

Ref Interpreter::call_function(const Ref& function, const Arguments& given) {
  if (!given.complete) return unknown(words_of(function->text, given));
  Scope* scope = heap_.scope(function->scope);
  Frame frame{.scope = scope,
              .globals = function->scope,
              .self = function->self,
              .owner = function->owner,
              .result = none(),
              .code = function->node.code};
  std::vector<Ref> positional = given.positional;
  if (function->self) positional.insert(positional.begin(), function->self);
  std::size_t next = 0;
  std::vector<std::string> taken;
  const Node parameters = function->node.field("parameters");
  for (const Node& parameter : parameters ? parameters.children() : std::vector<Node>()) {
    if (parameter.is("list_splat_pattern") || parameter.is("dictionary_splat_pattern")) {
      const std::string name(parameter.children().front().text());
      Ref rest = list_of({});
      if (parameter.is("list_splat_pattern")) {
        for (; next < positional.size(); ++next) rest->items.push_back(positional[next]);
        rest->kind = Kind::tuple;
      } else {
        rest->kind = Kind::mapping;
        for (const auto& [key, value] : given.named) {
          if (std::ranges::find(taken, key) != taken.end()) continue;
          rest->items.push_back(text_of(key));
          rest->values.push_back(value);
        }
      }
      scope->names[name] = rest;
      continue;
    }
    if (!parameter.is("identifier") && !parameter.field("name") && parameter.children().empty()) continue;  // `*` or `/`
    const Node spelled = parameter.is("identifier") ? parameter
                         : parameter.field("name")  ? parameter.field("name")
                                                    : parameter.children().front();
    if (!spelled.is("identifier")) continue;
    const std::string name(spelled.text());
    taken.push_back(name);
    if (const Ref value = named(given, name)) {
      scope->names[name] = value;
    } else if (next < positional.size()) {
      scope->names[name] = positional[next++];
    } else if (const Node otherwise = parameter.field("value")) {
      Frame outside{
          .scope = function->scope, .globals = function->scope, .self = {}, .owner = {}, .result = {}, .code = function->node.code};
      scope->names[name] = expression(otherwise, outside);
    } else {
      scope->names[name] = unknown(name + " of " + function->text);
    }
  }
  ran_.insert(function->node.id());
  const Node body = function->node.field("body");
  if (function->node.is("lambda")) return expression(body, frame);
  block(body, frame);
  return frame.result;
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

// A dataclass or named tuple: what it is given, else what stands in the class.
void Interpreter::fields(const Ref& object, const Ref& type, const Arguments& given) {
  std::size_t next = 0;
  const Node body = type->node.field("body");
  for (const Node& statement : body.children()) {
    const auto parts = statement.children();
    if (!statement.is("expression_statement") || parts.empty() || !parts.front().is("assignment")) continue;
    const std::string name(parts.front().field("left").text());
    if (!parts.front().field("type")) continue;
    Ref value = named(given, name);
    if (!value && next < given.positional.size()) value = given.positional[next++];
    if (!value) value = class_attribute(type, name);
    object->attributes.emplace_back(name, value ? value : unknown(type->text + "." + name));
  }
}

Ref Interpreter::instantiate(const Ref& type, const Arguments& given, Node site) {
  auto object = make({.kind = Kind::object, .node = site, .self = type});
  object->layer = layer_of(type);
  object->given = given;
  if (!object->layer.empty()) add_module(object);
  if (type->integer == 1) fields(object, type, given);
  if (const Ref init = class_attribute(type, "__init__")) {
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
  if (name == "math.sqrt" && whole_at(0)) return real(std::sqrt(static_cast<double>(with[0]->integer)));
  if (name == "getattr" && with.size() >= 2 && with[1]->kind == Kind::text) return attribute(with[0], with[1]->text);
  if (name == "setattr" && with.size() == 3 && with[1]->kind == Kind::text && with[0]->kind == Kind::object) {
    set(with[0], with[1]->text, with[2], site);
    return none();
  }
  if (name == "print") return none();
  const auto items = with.empty() ? std::nullopt : entries(with[0]);
  if (!items) return nullptr;
  if (name == "len") return whole(std::ssize(*items));
  if (name == "list" || name == "tuple" || name == "iter") return list_of(*items);
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

// Numbers and words alone: models and tensors are told apart elsewhere. The rate of an optimizer changes neither time nor memory.
void Interpreter::note(const std::string& callee, const Arguments& given, Node site) {
  if (constructing_ != 0 || facts_.size() > kMostFacts || is_told(callee) || is_told("." + callee)) return;
  const auto plain = [](const Ref& value) { return is_plain(*value) || value->kind == Kind::tuple ? written(*value) : std::string("…"); };
  std::string words = callee + "(";
  for (const Ref& one : given.positional) words += plain(one) + ", ";
  for (const auto& [name, value] : given.named) words += name + "=" + (name == "lr" ? "…" : plain(value)) + ", ";
  facts_.push_back({words + ")", site});
}

Ref Interpreter::make_external(const Ref& callee, Arguments given, Node site) {
  const std::string& name = callee->text;
  if (Ref known = builtin(name, given, site)) return known;
  if (name == "dict" && given.positional.empty()) {
    Ref all = make({.kind = Kind::mapping});
    for (const auto& [key, value] : given.named) {
      all->items.push_back(text_of(key));
      all->values.push_back(value);
    }
    return all;
  }
  if (!given.complete) return unknown(words_of(name, given));
  if ((name == "copy.deepcopy" || name == "deepcopy") && given.positional.size() == 1 && given.positional[0]->kind == Kind::object)
    return deep_copy(given.positional[0]);
  const std::string last = name.substr(name.rfind('.') + 1);
  const bool layer = name.starts_with("torch.nn.") && !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && last != "Parameter";
  const bool kept = layer || last == "Parameter" || last == "OrderedDict" || last == "ArgumentParser" || last == "SimpleNamespace" ||
                    name.starts_with("torch.");
  if (!layer) note(name, given, site);
  if (!kept) return unknown(words_of(name, given));
  auto object = make({.kind = Kind::object, .node = site, .self = callee, .given = given});
  if (last == "SimpleNamespace") object->attributes = given.named;
  if (!layer) return object;
  object->layer = last;
  add_module(object);
  if (last == "Sequential" || last == "ModuleList" || last == "ModuleDict") fill(object, given, site);
  add_parts(object);
  return object;
}

Ref Interpreter::method(const Ref& self, const std::string& name, const Arguments& given, Node site) {
  constexpr std::array<std::string_view, 9> kThemselves{"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "requires_grad_"};
  if (self->kind == Kind::object && !self->layer.empty()) {
    if (std::ranges::find(kThemselves, name) != kThemselves.end()) return self;
    const auto& with = given.positional;
    if (name == "append" && with.size() == 1) {
      set(self, std::to_string(entries(self).value_or(std::vector<Ref>()).size()), with[0], site);
      return self;
    }
    if (name == "extend" && with.size() == 1) {
      fill(self, given, site);
      return self;
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
  if (self->kind == Kind::list && !given.positional.empty()) {
    if (name == "append") {
      self->items.push_back(given.positional[0]);
      return none();
    }
    const auto more = entries(given.positional[0]);
    if (name == "extend" && more && spend(more->size())) {
      self->items.insert(self->items.end(), more->begin(), more->end());
      return none();
    }
  }
  if (self->kind == Kind::mapping && given.positional.empty() && (name == "items" || name == "values" || name == "keys")) {
    if (name != "items") return list_of(name == "keys" ? self->items : self->values);
    Ref all = list_of({});
    for (std::size_t at = 0; at < self->items.size(); ++at) {
      Ref pair = list_of({self->items[at], self->values[at]});
      pair->kind = Kind::tuple;
      all->items.push_back(pair);
    }
    return all;
  }
  note(name, given, site);
  return unknown(words_of(written(*self) + "." + name, given));
}

}  // namespace hotlens::layers
