// Calls: constructors make instances, helpers are followed, containers are filled.
#include <algorithm>
#include <iterator>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr int kDepth = 12;                     // helpers inside helpers
constexpr std::int64_t kHelperBudget = 6'000;  // expressions in one helper; builders of whole networks need 2,000

// What leaves no trace of its own when it is called.
bool is_silent(Kind kind) {
  return kind == Kind::constant || kind == Kind::type || kind == Kind::external || kind == Kind::method || kind == Kind::text;
}

}  // namespace

ValueId Interpreter::run_function(Node function, ValueId bound, const std::vector<Argument>* arguments) {
  bind(function, bound, arguments);
  const Node body = function.field("body");
  if (function.is("lambda")) return evaluate(body);
  run(body);
  return e_.any(returns_);
}

// Gives the parameters of a function their values: those of a call, or unknown ones where there is no call to look at.
void Interpreter::bind(Node function, ValueId self, const std::vector<Argument>* given) {
  const std::vector<Argument> arguments = given != nullptr ? *given : std::vector<Argument>{};
  std::vector<Argument> positional;
  if (self != kUnknown) positional.push_back({.value = self});
  const auto splat = std::ranges::find_if(arguments, &Argument::splat);
  const bool loose = given == nullptr || splat != arguments.end();  // what follows may be anything
  std::copy_if(arguments.begin(), splat, std::back_inserter(positional), [](const Argument& one) { return one.name.empty(); });
  std::size_t next = 0;
  for (const Node& parameter : function.field("parameters").children()) {
    const Node inner = parameter.is("typed_parameter") ? parameter.child() : parameter;
    if (inner.kind().ends_with("splat_pattern")) {
      const bool list = inner.is("list_splat_pattern") && given != nullptr;
      frame_.scope->names[std::string(inner.child().text())] = list ? rest_of(positional, next, arguments) : kUnknown;
      next = positional.size();
      continue;
    }
    const Node name = parameter.field("name") ? parameter.field("name") : inner;
    if (!name.is("identifier")) continue;
    ValueId& value = frame_.scope->names[std::string(name.text())];
    if (const auto one = std::ranges::find(arguments, name.text(), &Argument::name); one != arguments.end()) {
      value = one->value;
    } else if (next < positional.size()) {
      value = positional[next++].value;
    } else {
      value = loose ? kUnknown : e_.at_top_level(parameter.field("value"));  // a default belongs to the definition
    }
  }
}

// What `*rest` holds in a call.
ValueId Interpreter::rest_of(const std::vector<Argument>& positional, std::size_t from, const std::vector<Argument>& arguments) {
  const ValueId list = new_list();
  for (std::size_t i = from; i < positional.size(); ++i) fill(list, positional[i].value, "", {});
  for (const Argument& one : arguments) {
    if (one.splat && one.name.empty()) fill_all(list, one.value, {});
  }
  return list;
}

TrailId Interpreter::trail_to(Node site) {
  e_.trails_.push_back({.outer = frame_.trail, .activation = frame_.activation, .call = site});
  return static_cast<TrailId>(e_.trails_.size() - 1);
}

std::vector<Argument> Interpreter::arguments(Node list) {
  if (list.is("generator_expression")) return {{.value = evaluate(list)}};
  std::vector<Argument> out;
  for (const Node& one : list.children()) {
    const bool splat = one.is("list_splat") || one.is("dictionary_splat");
    const std::string_view name = one.is("dictionary_splat") ? "**" : one.field("name").text();
    const Node value = splat ? one.child() : one.is("keyword_argument") ? one.field("value") : one;
    out.push_back({.name = std::string(name), .value = evaluate(value), .splat = splat, .node = value});
  }
  return out;
}

ValueId Interpreter::call_expression(Node node) {
  const Node function = node.field("function");
  if (function.is("identifier") && function.text() == "super") {
    if (frame_.self == kUnknown || frame_.owner == kNoClass) return kUnknown;
    return e_.add({.kind = Kind::super, .type = frame_.owner, .self = frame_.self});
  }
  const ValueId callee = evaluate(function);
  const std::vector<Argument> given = arguments(node.field("arguments"));
  note_call(callee, given, node);
  return call(callee, given, node);
}

void Interpreter::note_call(ValueId callee, const std::vector<Argument>& given, Node site) {
  if (pattern_ == nullptr) return;
  std::vector<ValueId> callees = e_.alternatives(callee);
  const auto all = [&](auto is) { return std::ranges::all_of(callees, [&](ValueId one) { return is(one, e_.what(one)); }); };
  const bool silent = all([](ValueId, const Value& value) { return is_silent(value.kind); });
  if (silent) {  // it may call what it is given: checkpoint(self.block, x)
    callees.clear();
    for (const Argument& one : given) {
      if (e_.at(one.value).kind == Kind::place && e_.what(one.value).kind == Kind::instance) callees.push_back(one.value);
    }
    if (callees.empty()) return;
    callee = e_.any(callees);
  }
  const bool likely =
      !silent && all([&](ValueId one, const Value& value) { return value.kind == Kind::instance && e_.at(one).kind == Kind::place; });
  const bool certain =
      !silent && all([&](ValueId, const Value& value) { return value.kind == Kind::instance && e_.is_module(value.type); });
  const auto index = static_cast<std::int32_t>(pattern_->calls.size());
  pattern_->calls.push_back({.site = site, .callee = callee, .likely = likely});
  const std::uint32_t next = state();
  edge(at_, next, index);
  if (!certain) pattern_->edges.push_back({.from = at_, .to = next, .skips = index});
  at_ = next;
}

ValueId Interpreter::call(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(callee)) out.push_back(call_one(e_.what(one), arguments, site));
  return e_.any(out);
}

ValueId Interpreter::call_one(const Value& callee, const std::vector<Argument>& arguments, Node site) {
  switch (callee.kind) {
    case Kind::type:
      return instantiate(callee.type, arguments, site);
    case Kind::function:
      return call_function(callee, arguments, site);
    case Kind::external:
      return call_external(callee.name, arguments, site);
    case Kind::method:
      return call_method(callee, arguments, site);
    case Kind::partial: {
      std::vector<Argument> all = callee.arguments;
      all.insert(all.end(), arguments.begin(), arguments.end());
      return call(callee.inner, all, site);
    }
    case Kind::instance:
      return e_.is_module(callee.type) ? e_.add({.kind = Kind::constant}) : kUnknown;  // a tensor
    case Kind::unknown:
      // A class that a parameter or registry holds, as likely as a function: a module of a class that is not known.
      return e_.add({.kind = Kind::instance, .arguments = arguments, .trail = trail_to(site)});
    case Kind::constant:
      return e_.add({.kind = Kind::constant});  // None where a default was not replaced: it is never called
    default:
      return kUnknown;
  }
}

ValueId Interpreter::instantiate(ClassId type, const std::vector<Argument>& arguments, Node site) {
  const ValueId id = e_.add({.kind = Kind::instance, .type = type, .arguments = arguments, .trail = trail_to(site), .depth = e_.depth()});
  if (e_.type(type).name == e_.watched_) e_.watched_made_.push_back(id);
  const bool mapping = e_.derives(type, "OrderedDict") || e_.derives(type, "dict");
  if (mapping && !arguments.empty() && arguments.front().name.empty()) fill_pairs(id, arguments.front().value, site);
  const bool followed = e_.at(e_.method(type, "__init__", id)).kind == Kind::function;  // when somebody asks
  if (e_.container(type) == Container::none || followed) return id;
  e_.values_[id].ready = true;
  call_method({.kind = Kind::method, .name = "__init__", .of = id}, arguments, site);
  return id;
}

ValueId Interpreter::call_function(const Value& function, const std::vector<Argument>& arguments, Node site) {
  // What a forward calls has frames of its own in the trace.
  if (pattern_ != nullptr || e_.depth_ >= kDepth || !e_.spend()) return kUnknown;
  const Temporarily budget(e_.floor_, e_.floor_for(kHelperBudget));
  const Temporarily deeper(e_.depth_, e_.depth_ + 1);
  Frame frame{.code = function.node.code,
              .scope = std::make_shared<Scope>(Scope{.names = {}, .outer = function.scope}),
              .self = function.self,
              .owner = function.type,
              .trail = trail_to(site),
              .activation = e_.next_activation_++};
  e_.ran_.insert(function.node.id());
  return Interpreter(e_, std::move(frame)).run_function(function.node, function.self, &arguments);
}

}  // namespace hotlens::guess
