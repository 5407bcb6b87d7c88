// Calls: constructors make instances, helpers are followed, containers are filled.
#include <algorithm>
#include <array>
#include <cctype>

#include "annotator/source/interpreter.h"

namespace hotlens::source {
namespace {

using Kind = Value::Kind;

constexpr int kDepth = 12;                     // helpers inside helpers
constexpr int kPatternDepth = 3;               // while a forward is read, where only what a helper returns counts
constexpr std::int64_t kHelperBudget = 6'000;  // expressions in one helper; builders of whole networks need 2,000
constexpr std::int64_t kPatternHelperBudget = 500;
constexpr std::size_t kMostWays = 64;

bool names_class(std::string_view dotted) {
  const std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::any_of(ends, [&](std::string_view end) { return last == end; });
}

const Argument* keyword(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found != arguments.end() ? &*found : nullptr;
}

}  // namespace

// Gives the parameters of a function their values: those of a call, or unknown ones where there is no call to look at.
void bind_parameters(Interpreter& at, Node function, ValueId self, const std::vector<Argument>* arguments, Scope& scope) {
  const Node list = function.field("parameters");
  if (!list) return;
  std::vector<Argument> positional;
  if (self != kUnknown) positional.push_back({.value = self});
  bool loose = arguments == nullptr;  // from here on any argument may be anything
  for (const Argument& one : arguments != nullptr ? *arguments : std::vector<Argument>{}) {
    if (one.splat) loose = true;
    if (!one.splat && one.name.empty() && !loose) positional.push_back(one);
  }
  std::size_t next = 0;
  for (const Node& parameter : list.children()) {
    const std::string_view kind = parameter.kind();
    const Node named = parameter.field("name");
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
    const Node name = kind == "identifier" ? parameter : named ? named : !inner.empty() ? inner.front() : Node{};
    if (!name || !name.is("identifier")) continue;
    const std::string text(name.text());
    ValueId value = kUnknown;
    const Argument* given = arguments != nullptr ? keyword(*arguments, text) : nullptr;
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

ValueId Interpreter::rest_of(const std::vector<Argument>& positional, std::size_t from, const std::vector<Argument>& arguments) {
  const ValueId list =
      e_.add({.kind = Kind::list, .loop_depth = static_cast<std::uint32_t>(e_.loops_.size()), .branch_depth = e_.branch_depth_});
  for (std::size_t i = from; i < positional.size(); ++i) fill(list, positional[i].value, "", {});
  for (const Argument& one : arguments) {
    if (one.splat && one.name.empty()) fill_all(list, one.value, {});
  }
  return list;
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

// The expression that made an entry, seen from the innermost running function that also fills the container; not known for a value that
// nobody was seen to make.
Spot Interpreter::entry_spot(ValueId value) const {
  const TrailId made = e_.at(e_.object(value)).trail;
  std::uint32_t activation = frame_.activation;
  for (TrailId running = frame_.trail;; running = e_.trails_[running].outer) {
    for (TrailId trail = made; trail != kNoTrail; trail = e_.trails_[trail].outer) {
      const Trail& step = e_.trails_[trail];
      if (step.activation == activation && step.call) return spot(step.call);
    }
    if (running == kNoTrail) break;
    activation = e_.trails_[running].activation;
  }
  return made != kNoTrail && e_.trails_[made].call ? spot(e_.trails_[made].call) : Spot{};
}

// Appends to a list or container; a container's entries are places.
void Interpreter::fill(ValueId list, ValueId value, const std::string& name, Node site) {
  Value& to = e_.values_[list];
  const auto depth = std::min<std::size_t>(to.loop_depth, e_.loops_.size());
  Slot slot{.name = name, .value = value, .loops = {e_.loops_.begin() + static_cast<std::ptrdiff_t>(depth), e_.loops_.end()}};
  slot.optional = e_.branch_depth_ > to.branch_depth;
  if (to.kind == Kind::instance) {
    const bool named = !name.empty() && name != "*" && std::isdigit(static_cast<unsigned char>(name.front())) == 0;
    std::vector<ValueId> places;
    for (const ValueId one : e_.alternatives(value)) {
      if (e_.at(e_.object(one)).kind == Kind::constant) continue;
      const Spot where = named ? spot(site ? statement_of(site) : site) : entry_spot(one);
      places.push_back(e_.add({.kind = Kind::place, .name = name, .of = list, .inner = e_.object(one), .spot = where}));
    }
    slot.value = e_.any(std::move(places));
    if (named && !slot.optional) {
      std::erase_if(e_.values_[list].entries, [&](const Slot& other) { return other.name == name; });
    }
  }
  if (e_.values_[list].entries.size() < 4096) e_.values_[list].entries.push_back(std::move(slot));
}

// The entries of a list or container into another, with the loops that make them.
void Interpreter::fill_all(ValueId list, ValueId iterable, Node site) {
  for (const ValueId one : e_.alternatives(iterable)) {
    const ValueId id = e_.object(one);
    if (e_.at(id).kind == Kind::instance) e_.construct(id);
    if (e_.at(id).kind == Kind::unknown || e_.at(id).entries.empty()) {
      if (e_.at(id).kind == Kind::list || e_.at(id).kind == Kind::mapping || id == list) continue;
      // Any number of entries that nothing is known of.
      e_.loops_.push_back(e_.next_loop_++);
      fill(list, kUnknown, "*", {});
      e_.loops_.pop_back();
      continue;
    }
    const std::vector<Slot> entries = e_.at(id).entries;
    for (const Slot& entry : entries) {
      fill(list, entry.value, entry.name, site);
      Slot& made = e_.values_[list].entries.back();
      made.loops.insert(made.loops.end(), entry.loops.begin(), entry.loops.end());
      made.optional = made.optional || entry.optional;
    }
  }
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
  return call(callee, given, node);
}

void Interpreter::note_call(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  if (pattern_ == nullptr) return;
  PatternCall noted{.spot = spot(site), .callee = callee, .passed = {}};
  bool certain = true, possible = false, likely = true;
  for (const ValueId one : e_.alternatives(callee)) {
    const Value& value = e_.at(e_.object(one));
    const bool silent = value.kind == Kind::constant || value.kind == Kind::type || value.kind == Kind::external ||
                        value.kind == Kind::method || value.kind == Kind::text;
    possible = possible || !silent;
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
  at_ = next;
}

ValueId Interpreter::call(ValueId callee, const std::vector<Argument>& arguments, Node site) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(callee)) {
    if (out.size() < kMostWays) out.push_back(call_one(one, arguments, site));
  }
  return e_.any(std::move(out));
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
  Value made{
      .kind = Kind::instance, .type = type, .loop_depth = static_cast<std::uint32_t>(e_.loops_.size()), .branch_depth = e_.branch_depth_};
  made.arguments = arguments;
  made.trail = trail_to(site);
  const ValueId id = e_.add(std::move(made));
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
                       .activation = e_.next_activation_++});
  if (frame_.self != kUnknown && function.self == kUnknown && function.type != kNoClass && !arguments.empty()) {
    run.frame_.self = e_.object(arguments.front().value);  // Base.__init__(self, …)
  }
  bind_parameters(run, node, function.self, &arguments, *scope);
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

ValueId Interpreter::call_external(const std::string& name, const std::vector<Argument>& arguments, Node site) {
  const ValueId first = arguments.empty() || arguments.front().splat ? kUnknown : arguments.front().value;
  const auto new_list = [&](Kind kind) {
    return e_.add({.kind = kind, .loop_depth = static_cast<std::uint32_t>(e_.loops_.size()), .branch_depth = e_.branch_depth_});
  };
  if (name == "getattr" && arguments.size() >= 2) {
    const Value& attribute = e_.at(arguments[1].value);
    return attribute.kind == Kind::text ? member(first, attribute.name) : kUnknown;
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
    return e_.any(std::move(copies));
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
    return list;
  }
  if (name == "str") return e_.add({.kind = Kind::text, .name = e_.at(first).kind == Kind::text ? e_.at(first).name : "*"});
  if (name == "next") return element_of(first);
  if (name == "type" && arguments.size() == 1) return kUnknown;
  if (name.starts_with("torch.nn.utils")) return first;  // weight_norm and its like give back what they are given
  if (name.starts_with("torch.nn.") && names_class(name) && name.find("functional") == std::string::npos &&
      name.find(".init.") == std::string::npos) {
    return instantiate(e_.external_class(name), arguments, site);
  }
  if (name.find('.') != std::string::npos && !name.starts_with("torch.") && names_class(name)) {
    return instantiate(e_.external_class(name), arguments, site);
  }
  const bool builtin = name.find('.') == std::string::npos;
  return builtin || name.starts_with("torch.") ? e_.add({.kind = Kind::constant}) : kUnknown;
}

// The name that add_module gives. One that is not known at all, given to something that this code makes, is a word from a table
// (`for kind in order: self.add_module(kind, made[kind])`), as "**"; "*" may be a number.
std::string Interpreter::entry_name(ValueId name, ValueId value) const {
  if (e_.at(name).kind == Kind::text) return e_.at(name).name;
  const std::vector<ValueId> values = e_.alternatives(value);
  const bool made = std::ranges::any_of(values, [&](ValueId one) {
    const Value& what = e_.at(e_.object(one));
    return what.kind == Kind::instance && what.trail != kNoTrail;
  });
  return made && e_.at(name).kind == Kind::unknown ? "**" : "*";
}

// `[("name", value), …]` or another mapping into a mapping or container.
void Interpreter::fill_pairs(ValueId to, ValueId pairs, Node site) {
  for (const ValueId one : e_.alternatives(pairs)) {
    const ValueId id = e_.object(one);
    if (e_.at(id).kind != Kind::list) {
      fill_all(to, id, site);
      continue;
    }
    for (const Slot& row : std::vector(e_.at(id).entries)) {
      const Value& pair = e_.at(row.value);
      if (pair.kind != Kind::list || pair.entries.size() != 2) continue;
      const Value& key = e_.at(pair.entries[0].value);
      fill(to, pair.entries[1].value, key.kind == Kind::text ? key.name : "*", site);
      Slot& made = e_.values_[to].entries.back();
      made.loops.insert(made.loops.end(), row.loops.begin(), row.loops.end());
      made.optional = made.optional || row.optional;
    }
  }
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
    return name == "format" || name == "join" ? e_.add({.kind = Kind::text, .name = "*"}) : e_.add({.kind = Kind::constant});
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
    const std::string called = entry_name(first, arguments[1].value);
    if (list || mapping) {
      fill(of, arguments[1].value, called, site);
    } else {
      attach(of, called, arguments[1].value, site);
    }
    return kUnknown;
  }
  if (name == "__getitem__") return holder.entries.empty() ? kUnknown : e_.add({.kind = Kind::element, .of = of, .ordered = false});
  if (name == "__init__") {
    for (const Argument& one : arguments) {
      const Value& given = e_.at(e_.object(one.value));
      if (one.splat) {
        fill_all(of, one.value, site);
      } else if (given.kind == Kind::mapping) {
        fill_all(of, one.value, site);
      } else if (kind == Container::sequential) {
        fill(of, one.value, "", one.node ? one.node : site);
      } else if (kind == Container::list) {
        fill_all(of, one.value, site);
      } else if (kind == Container::mapping) {
        fill_pairs(of, one.value, site);
      }
    }
    return kUnknown;
  }
  if (list && (name == "append" || name == "insert") && !arguments.empty()) {
    fill(of, arguments.back().value, "", site);
    return of;
  }
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
  if (name == "pop" && list) return e_.add({.kind = Kind::element, .of = of, .ordered = false});
  if (mapping && name == "items") {
    const ValueId row = e_.add({.kind = Kind::list}), rows = e_.add({.kind = Kind::list});
    fill(row, e_.add({.kind = Kind::text, .name = "*"}), "", site);
    fill(row, e_.add({.kind = Kind::element, .of = of}), "", site);
    fill(rows, row, "", site);
    return rows;
  }
  const bool chained = name == "to" || name == "eval" || name == "train" || name == "requires_grad_" || name == "cuda" || name == "cpu" ||
                       name == "apply" || name == "half" || name == "float";
  if (chained && holder.kind == Kind::instance) return of;
  return kUnknown;
}

}  // namespace hotlens::source
