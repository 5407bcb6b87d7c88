// Calls: constructors make instances, helpers are followed, containers are filled.
#include <algorithm>
#include <array>
#include <cctype>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr int kDepth = 12;                     // helpers inside helpers
constexpr int kPatternDepth = 3;               // while a forward is read, where only what a helper returns counts
constexpr std::int64_t kHelperBudget = 6'000;  // expressions in one helper; builders of whole networks need 2,000
constexpr std::int64_t kPatternHelperBudget = 500;
constexpr std::size_t kMostWays = 64;

const Argument* keyword(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found != arguments.end() ? &*found : nullptr;
}

}  // namespace

// Gives the parameters of a function their values: those of a call, or unknown ones where there is no call to look at.
void bind_parameters(Interpreter& at, Node function, ValueId self, const std::vector<Argument>* arguments, Scope& scope) {
  const Node list = function.field("parameters");
  if (!list) return;
  std::vector<Argument> positional, named = at.splat_names(arguments);
  if (self != kUnknown) positional.push_back({.value = self});
  bool loose = arguments == nullptr;  // from here on any argument may be anything
  for (const Argument& one : arguments != nullptr ? *arguments : std::vector<Argument>{}) {
    if (one.splat) loose = true;
    if (!one.splat && one.name.empty() && !loose) positional.push_back(one);
  }
  std::size_t next = 0;
  for (const Node& parameter : list.children()) {
    const std::string_view kind = parameter.kind();
    const Node name_field = parameter.field("name");
    const std::vector<Node> inner = parameter.children();
    if (kind == "list_splat_pattern" || kind == "dictionary_splat_pattern" ||
        (kind == "typed_parameter" && !inner.empty() && inner.front().kind().ends_with("splat_pattern"))) {
      const Node holder = kind == "typed_parameter" ? inner.front() : parameter;
      const std::vector<Node> names = holder.children();
      if (names.empty()) continue;
      ValueId rest = kUnknown;
      if (holder.is("list_splat_pattern") && arguments != nullptr) rest = at.rest_of(positional, next, *arguments);
      scope.names[std::string(names.front().text())] = rest;
      next = positional.size();
      continue;
    }
    const Node name = kind == "identifier" ? parameter : name_field ? name_field : !inner.empty() ? inner.front() : Node{};
    if (!name || !name.is("identifier")) continue;
    const std::string text(name.text());
    ValueId value = kUnknown;
    const Argument* given = keyword(named, text);
    if (given != nullptr) {
      value = given->value;
    } else if (next < positional.size()) {
      value = positional[next++].value;
    } else if (const Node otherwise = parameter.field("value"); otherwise && !loose) {
      value = at.evaluate_outside(otherwise);
    }
    scope.names[text] = value;
  }
}

// The arguments that have a name, those of a `**mapping` among them.
std::vector<Argument> Interpreter::splat_names(const std::vector<Argument>* arguments) const {
  std::vector<Argument> named;
  for (const Argument& one : arguments != nullptr ? *arguments : std::vector<Argument>{}) {
    if (!one.name.empty() && !one.splat) named.push_back(one);
    if (one.name != "**") continue;
    const std::vector<ValueId> given = e_.alternatives(one.value);
    const Value& mapping = e_.at(e_.object(given.front()));
    if (given.size() != 1 || mapping.kind != Kind::mapping) continue;
    for (const Slot& slot : mapping.entries) {
      const bool sure = !slot.optional && slot.name.find('*') == std::string::npos;
      if (sure) named.push_back({.name = slot.name, .value = slot.value});
    }
  }
  return named;
}

// A default belongs to the definition, not to the running body.
ValueId Interpreter::evaluate_outside(Node expression) {
  return Interpreter(e_, {.code = expression.code, .scope = std::make_shared<Scope>()}).evaluate(expression);
}

TrailId Interpreter::trail_to(Node site) {
  e_.trails_.push_back({.outer = frame_.trail, .activation = frame_.activation, .call = site});
  return static_cast<TrailId>(e_.trails_.size() - 1);
}

Spot Interpreter::spot(Node node) const {
  return node ? Spot{node.code, node.range(), qualified_name(node)} : Spot{};
}

std::vector<Argument> Interpreter::arguments(Node list) {
  std::vector<Argument> out;
  if (!list) return out;
  if (list.is("generator_expression")) return {{.value = evaluate(list)}};
  for (const Node& one : list.children()) {
    const std::vector<Node> inner = one.children();
    if (one.is("keyword_argument")) {
      out.push_back({.name = std::string(one.field("name").text()), .value = evaluate(one.field("value")), .node = one.field("value")});
    } else if (one.is("list_splat") && !inner.empty()) {
      out.push_back({.value = evaluate(inner.front()), .splat = true});
    } else if (one.is("dictionary_splat") && !inner.empty()) {
      out.push_back({.name = "**", .value = evaluate(inner.front()), .splat = true});
    } else {
      out.push_back({.value = evaluate(one), .node = one});
    }
  }
  return out;
}

ValueId Interpreter::call_expression(Node node) {
  const Node function = node.field("function");
  if (function.is("identifier") && function.text() == "super") {
    const ValueId self = frame_.self;
    if (self == kUnknown || frame_.owner == kNoClass) return kUnknown;
    return e_.add({.kind = Kind::super, .type = frame_.owner, .self = self});
  }
  const ValueId callee = evaluate(function);
  const std::vector<Argument> given = arguments(node.field("arguments"));
  note_call(callee, given, node);
  if (last_part(function.text()) == "shuffle" && !given.empty()) shuffle(given.front().value);
  return call(callee, given, node);
}

void Interpreter::note_call(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  if (pattern_ == nullptr) return;
  PatternCall noted{.spot = spot(site), .callee = callee, .passed = {}, .arguments = arguments};
  bool certain = true, possible = false, likely = true;
  bool repeats = false;  // map calls what it is given once for each item
  for (const ValueId one : e_.alternatives(callee)) {
    const Value& value = e_.at(e_.object(one));
    const bool silent = value.kind == Kind::constant || value.kind == Kind::type || value.kind == Kind::external ||
                        value.kind == Kind::method || value.kind == Kind::text;
    possible = possible || !silent;
    repeats = repeats || (value.kind == Kind::external && value.name == "map");
    likely = likely && value.kind == Kind::instance && e_.at(one).kind == Kind::place;
    certain = certain && value.kind == Kind::instance && e_.is_module(value.type);
  }
  for (const Argument& argument : arguments) {
    for (const ValueId one : e_.alternatives(argument.value)) {
      const Value& value = e_.at(e_.object(one));
      const bool module =
          value.kind == Kind::instance && (value.type == kNoClass || e_.is_module(value.type)) && e_.at(one).kind == Kind::place;
      if (module || (value.kind == Kind::function && value.self != kUnknown)) noted.passed.push_back(one);
    }
  }
  if (!possible && noted.passed.empty()) return;
  const auto index = static_cast<std::int32_t>(pattern_->calls.size());
  const bool silent = !possible;
  noted.likely = likely && possible;
  pattern_->calls.push_back(std::move(noted));
  const std::uint32_t next = state();
  edge(at_, next, index);
  if (!certain || silent) pattern_->edges.push_back({.from = at_, .to = next, .skips = index});
  if (repeats) edge(next, next, index);
  at_ = next;
}

ValueId Interpreter::call(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(callee)) {
    if (out.size() < kMostWays) out.push_back(call_one(one, arguments, site));
  }
  return e_.any(out);
}

ValueId Interpreter::call_one(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  const Value& value = e_.at(e_.object(callee));
  switch (value.kind) {
    case Kind::type:
      return instantiate(value.type, arguments, site);
    case Kind::function:
      return call_function(value, arguments, site);
    case Kind::external:
      return call_external(value.name, arguments, site);
    case Kind::method:
      return call_method(value, arguments, site);
    case Kind::partial: {
      std::vector<Argument> all = value.arguments;
      all.insert(all.end(), arguments.begin(), arguments.end());
      return call(value.inner, all, site);
    }
    case Kind::instance:
      return e_.is_module(value.type) ? e_.add({.kind = Kind::constant}) : kUnknown;  // a tensor
    case Kind::unknown: {
      // A class that a parameter or registry holds, as likely as a function: a module of a class that is not known.
      Value made{.kind = Kind::instance};
      made.arguments = arguments;
      made.trail = trail_to(site);
      return e_.add(std::move(made));
    }
    case Kind::constant:
      return e_.add({.kind = Kind::constant});  // None where a default was not replaced: it is never called
    default:
      return kUnknown;
  }
}

ValueId Interpreter::instantiate(ClassId type, const std::vector<Argument>& arguments, Node site) {
  if (e_.derives(type, "NamedTuple")) {
    Value row{.kind = Kind::list, .depth = e_.depth()};
    row.entries = e_.fields(type, &arguments);
    return e_.add(std::move(row));
  }
  Value made{.kind = Kind::instance, .type = type, .depth = e_.depth()};
  made.arguments = arguments;
  made.trail = trail_to(site);
  const ValueId id = e_.add(std::move(made));
  if (e_.watched_.made != nullptr && e_.type(type).name == e_.watched_.type) e_.watched_.made->push_back(id);
  const bool mapping = e_.derives(type, "OrderedDict") || e_.derives(type, "dict");
  if (mapping && !arguments.empty() && arguments.front().name.empty()) fill_pairs(id, arguments.front().value, site);
  if (e_.container(type) == Container::none) return id;
  const Value constructor = e_.at(e_.method(type, "__init__", id));
  if (constructor.kind == Kind::function) return id;  // followed when somebody asks
  e_.values_[id].ready = true;
  call_method({.kind = Kind::method, .name = "__init__", .of = id}, arguments, site);
  return id;
}

ValueId Interpreter::call_function(const Value& function, const std::vector<Argument>& arguments, Node site) {
  const int limit = pattern_ != nullptr ? kPatternDepth : kDepth;
  if (e_.depth_ >= limit || !e_.spend()) return kUnknown;
  const Node node = function.node;
  const Node body = node.field("body");
  if (!body) return kUnknown;
  const Evaluator::Allowance allowance(e_, pattern_ != nullptr ? kPatternHelperBudget : kHelperBudget);
  auto scope = std::make_shared<Scope>();
  scope->outer = function.scope;
  Interpreter run(e_, {.code = node.code,
                       .scope = scope,
                       .self = function.self != kUnknown ? function.self
                               : function.scope          ? frame_.self
                                                         : kUnknown,
                       .owner = function.type != kNoClass ? function.type
                                : function.scope          ? frame_.owner
                                                          : kNoClass,
                       .trail = trail_to(site),
                       .activation = e_.next_activation_++,
                       .depth = e_.depth()});
  if (frame_.self != kUnknown && function.self == kUnknown && function.type != kNoClass && !arguments.empty()) {
    run.frame_.self = e_.object(arguments.front().value);  // Base.__init__(self, …)
  }
  bind_parameters(run, node, function.self, &arguments, *scope);
  e_.ran_.insert(node.id());
  const Evaluator::KeptPasses kept(e_);
  ++e_.depth_;
  ValueId result = kUnknown;
  if (node.is("lambda")) {
    result = run.evaluate(body);
  } else {
    run.run(body);
    result = run.returned();
  }
  --e_.depth_;
  return result;
}

}  // namespace hotlens::guess
