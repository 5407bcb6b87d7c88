#include <algorithm>
#include <array>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/torch_layers.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
constexpr std::size_t kMostFacts = 20'000;
constexpr std::string_view kPartial = "functools.partial";

bool makes_tensor(std::string_view callee) {
  constexpr std::array<std::string_view, 5> kFactories{"torch.zeros", "torch.ones", "torch.randn", "torch.rand", "torch.empty"};
  return std::ranges::find(kFactories, callee) != kFactories.end();
}

bool is_filling(std::string_view method) {
  constexpr std::array<std::string_view, 5> kMethods{"append", "extend", "insert", "add", "update"};
  return std::ranges::find(kMethods, method) != kMethods.end();
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
      const auto& with = given.positional;
      if (name == "__getattribute__" && with.size() == 1 && with[0]->kind == Kind::text) return own_attribute(self, with[0]->text);
      if (name == "__getitem__" && with.size() == 1) return item_of(self, with[0]);
      if (name == "__setattr__" && with.size() == 2 && with[0]->kind == Kind::text) give_own(self, with[0]->text, with[1], node);
      if (const Ref base = name == "__init__" ? dataclass_after(self->self, frame.owner) : nullptr) fields(self, base, given, node);
      if (name == "__init__" && !is_container(self->layer)) self->given = given;
      if (name == "__init__" && (self->layer == "Sequential" || self->layer == "ModuleList")) fill(self, given, node);
      return none();
    }
  }
  const Ref callee = expression(function, frame);
  const Ref result = call(callee, arguments(node.field("arguments"), frame), node);
  if (callee->kind == Kind::unknown && function.is("attribute") && is_filling(function.field("attribute").text())) {
    const Ref object = expression(function.field("object"), frame);
    if (object->kind == Kind::unknown) object->text = result->text;  // what is put into it is a part of it
  }
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
  if (callee->kind == Kind::function || callee->kind == Kind::external) {
    if (const Ref made = of_name(callee, given, site)) return made;
  }
  switch (callee->kind) {
    case Kind::function:
      return call_function(callee, given);
    case Kind::type:
      return instantiate(callee, given, site);
    case Kind::external:
      return make_external(callee, std::move(given), site);
    case Kind::method:
      return method(callee->self, callee->text, given, site);
    case Kind::object:
      if (callee->self->text == kPartial && !callee->given.positional.empty()) return call_partial(callee->given, std::move(given), site);
      [[fallthrough]];
    default:
      note(callee->kind == Kind::object ? callee->layer : callee->text.substr(callee->text.rfind('.') + 1), given, site);
      return unknown(written_call(written(*callee), given));
  }
}

// `AutoModel.from_config(config)`: a library chooses the class by the configuration. It was the recorded model's; whether it gives what was
// recorded is compared as ever. Null: it is no such call.
Ref Interpreter::from_config(const Arguments& given, Node site) {
  const bool config = given.positional.size() == 1 && given.positional[0]->kind == Kind::object &&
                      given.positional[0]->self->kind == Kind::type && given.positional[0]->layer.empty();
  const Ref type = config ? only_defined(sources_.model, Kind::type) : nullptr;
  return type ? instantiate(type, {.positional = given.positional}, site) : nullptr;
}

// `timm.create_model("resnet18", num_classes=10)`: a library has a function for each name. Null: it is no such call.
Ref Interpreter::of_name(const Ref& callee, const Arguments& given, Node site) {
  const std::string last = callee->text.substr(callee->text.rfind('.') + 1);
  const bool library = callee->kind == Kind::external || sources_.packages.contains(callee->node.code->path());
  const bool asks = library && (last == "create_model" || last == "get_model") && !given.positional.empty() && given.complete;
  if (!asks || given.positional[0]->kind != Kind::text) return nullptr;
  const std::string& name = given.positional[0]->text;
  const Ref maker = only_defined(name.substr(0, name.find('.')), Kind::function);
  if (!maker) return nullptr;
  if (callee->kind == Kind::function) makers_.insert(callee->node.id());  // what it does with the name is this
  ++making_;
  const Ref made = call(maker, {.positional = {}, .named = given.named}, site);
  --making_;
  return made;
}

// `partial(nn.LayerNorm, eps=1e-6)(64)`.
Ref Interpreter::call_partial(const Arguments& held, Arguments given, Node site) {
  Arguments all{.positional = {held.positional.begin() + 1, held.positional.end()}, .named = given.named, .complete = given.complete};
  all.positional.insert(all.positional.end(), given.positional.begin(), given.positional.end());
  for (const auto& one : held.named) {
    if (!named(given, one.first)) all.named.push_back(one);
  }
  return call(held.positional[0], std::move(all), site);
}

Ref Interpreter::call_function(const Ref& function, const Arguments& given) {
  if (!given.complete) return unknown(written_call(function->text, given));
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
  for (const Node& one : parameters ? parameters.children() : std::vector<Node>()) {
    const Node inside = one.is("typed_parameter") && !one.children().empty() ? one.children().front() : one;  // `**kwargs: Any`
    const Node parameter = inside.is("list_splat_pattern") || inside.is("dictionary_splat_pattern") ? inside : one;
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
  const std::size_t begin = followed_.size();
  followed_.push_back(function->node.id());
  const Node body = function->node.field("body");
  if (function->node.is("lambda")) return expression(body, frame);
  block(body, frame);
  const bool gives_module = frame.result->kind == Kind::object && !frame.result->layer.empty();
  if (gives_module) makers_.insert(followed_.begin() + static_cast<std::ptrdiff_t>(begin), followed_.end());
  if (constructing_ > 0) makers_.insert(function->node.id());
  return frame.result;
}

// Numbers and words alone: models and tensors are told apart elsewhere. Rates of an optimizer change neither time nor memory, but for
// whether they are zero.
void Interpreter::note(const std::string& callee, const Arguments& given, Node site) {
  if (constructing_ + making_ != 0 || facts_.size() > kMostFacts || is_told(callee) || is_told("." + callee)) return;
  const auto plain = [](const Ref& value) { return is_plain(*value) || value->kind == Kind::tuple ? written(*value) : std::string("…"); };
  std::string words = callee + "(";
  // Of `torch.randint(words, (8, 32))` its sizes alone. Of what the step makes these follow the numbers that the script holds.
  const bool random = callee == "torch.randint" && named(given, "size") == nullptr;
  const bool in_loop = source::enclosing(site, "for_statement") || source::enclosing(site, "while_statement");
  const bool in_step = in_loop && (makes_tensor(callee) || callee == "view" || callee == "reshape");
  for (std::size_t at = 0; at < given.positional.size(); ++at) {
    const bool told = !in_step && !is_rate_of_update(callee, "") && (!random || at + 1 == given.positional.size());
    words += (told ? plain(given.positional[at]) : "…") + ", ";
  }
  for (const auto& [name, value] : given.named) {
    const bool rate = is_rate_of_update(callee, name), none = rate && name != "lr" && real_of(*value) == 0;
    words += name + "=" + (none ? "0" : rate && (name == "lr" || value->kind != Kind::unknown) ? "…" : plain(value)) + ", ";
  }
  facts_.push_back({words + ")", site});
}

Ref Interpreter::make_external(const Ref& callee, Arguments given, Node site) {
  const std::string& name = callee->text;
  if (Ref known = builtin(name, given, site)) return known;
  if (Ref tensor = of_tensors(name, given, site)) return tensor;
  if (!given.complete) return unknown(written_call(name, given));
  if ((name == "copy.deepcopy" || name == "deepcopy") && given.positional.size() == 1 && given.positional[0]->kind == Kind::object)
    return deep_copy(given.positional[0]);
  const std::string last = name.substr(name.rfind('.') + 1);
  const bool tensor = last == "Parameter" || last == "Buffer";
  const bool layer = name.starts_with("torch.nn.") && !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && !tensor;
  const bool kept = layer || tensor || name == kPartial || last == "OrderedDict" || last == "ArgumentParser" || last == "SimpleNamespace" ||
                    name.starts_with("torch.");
  if (last == "from_config") {
    if (const Ref made = from_config(given, site)) return made;
  }
  if (!layer && name != kPartial) note(name, given, site);
  if (!kept) return unknown(written_call(name, given));
  auto object = make({.kind = Kind::object, .node = site, .self = callee, .given = given});
  if (last == "SimpleNamespace") object->attributes = given.named;
  if (!layer) return object;
  object->layer = last;
  add_module(object);
  if (last == "Sequential" || last == "ModuleList" || last == "ModuleDict") fill(object, given, site);
  add_parts(object);
  return object;
}
}  // namespace hotlens::layers
