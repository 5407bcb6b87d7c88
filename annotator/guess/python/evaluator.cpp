#include "annotator/guess/python/evaluator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <set>
#include <utility>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::int64_t kBudget = 3'000'000;   // expressions; a second of work, twenty times what the largest model of the corpus needs
constexpr std::int64_t kBodyBudget = 60'000;  // of one constructor or forward, the helpers it calls included
constexpr std::size_t kMostAlternatives = 64;

// `name` has no unknown parts.
bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(pattern.rfind('*') + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

// Whether two names with unknown parts can be one name: the known heads and tails must not contradict each other.
bool may_be_same(std::string_view a, std::string_view b) {
  if (b.find('*') == std::string_view::npos) return fits(a, b);
  if (a.find('*') == std::string_view::npos) return fits(b, a);
  const std::string_view x = a.substr(0, a.find('*')), y = b.substr(0, b.find('*'));
  return x.starts_with(y) || y.starts_with(x);
}

}  // namespace

Evaluator::Evaluator(Library& library, Afterwards later) : library_(library), later_(std::move(later)), budget_(kBudget) {
  add({});  // kUnknown
}

ValueId Evaluator::add(Value value) {
  values_.push_back(std::move(value));
  const auto id = static_cast<ValueId>(values_.size() - 1);
  if (values_.back().kind == Kind::place) places_[object(id)].push_back(id);
  return id;
}

const std::vector<ValueId>& Evaluator::places_of(ValueId object_value) const {
  static const std::vector<ValueId> kNone;
  const auto found = places_.find(object_value);
  return found != places_.end() ? found->second : kNone;
}

bool Evaluator::is_same_made(ValueId a, ValueId b) const {
  return object(a) == object(b) && at(object(a)).kind == Kind::instance && at(object(a)).trail != kNoTrail;
}

ValueId Evaluator::any(const std::vector<ValueId>& options) {
  std::vector<ValueId> flat;
  for (const ValueId option : options) {
    const std::vector<ValueId> inner = at(option).kind == Kind::any ? at(option).options : std::vector{option};
    for (const ValueId one : inner) {
      if (flat.size() < kMostAlternatives && std::ranges::find(flat, one) == flat.end()) flat.push_back(one);
    }
  }
  if (flat.empty()) return kUnknown;
  if (flat.size() == 1) return flat.front();
  Value value{.kind = Kind::any};
  value.options = std::move(flat);
  return add(std::move(value));
}

ValueId Evaluator::external(const std::string& dotted) {
  return add({.kind = Kind::external, .name = dotted});
}

ValueId Evaluator::some(ClassId type) {
  const auto [known, fresh] = some_.try_emplace(type, kUnknown);
  if (fresh) known->second = add({.kind = Kind::instance, .type = type});
  return known->second;
}

ValueId Evaluator::made_as(ValueId value, ClassId type) {
  if (at(value).kind != Kind::instance || at(value).type == type) return value;
  const auto [known, fresh] = made_as_.try_emplace({value, type}, kUnknown);
  if (fresh) {
    Value made{.kind = Kind::instance, .type = type};
    made.arguments = at(value).arguments;
    made.trail = at(value).trail;
    known->second = add(std::move(made));
  }
  return known->second;
}

std::vector<ValueId> Evaluator::alternatives(ValueId value) const {
  std::vector<ValueId> out, open{value};
  std::set<ValueId> seen;
  while (!open.empty() && out.size() < kMostAlternatives) {
    const ValueId one = open.back();
    open.pop_back();
    if (!seen.insert(one).second) continue;
    const Value& v = at(one);
    if (v.kind == Kind::any) {
      open.insert(open.end(), v.options.rbegin(), v.options.rend());
    } else if (v.kind == Kind::element) {
      for (const Slot& slot : std::views::reverse(at(v.of).entries)) open.push_back(slot.value);
      if (at(v.of).entries.empty()) out.push_back(kUnknown);
    } else {
      out.push_back(one);
    }
  }
  return out;
}

ValueId Evaluator::object(ValueId value) const {
  for (int depth = 0; at(value).kind == Kind::place && depth < 16; ++depth) value = at(value).inner;
  return value;
}

ValueId Evaluator::attribute(ValueId object_value, std::string_view name) {
  std::vector<ValueId> found, loose;
  construct(object_value);
  for (const Slot& slot : at(object_value).slots) {
    if (slot.name == name) {
      found.push_back(slot.value);
    } else if (may_be_same(slot.name, name)) {
      loose.push_back(slot.value);
    }
  }
  if (!found.empty()) return any(found);
  for (const Slot& slot : at(object_value).entries) {
    if (slot.name == name) found.push_back(slot.value);
  }
  if (!found.empty()) return any(found);
  const ValueId inherited = method(at(object_value).type, name, object_value);
  if (inherited != kUnknown || loose.empty()) return inherited;
  return any(loose);
}

ValueId Evaluator::assigned(ValueId holder, std::string_view name) const {
  for (const Assigned& one : std::views::reverse(assigned_)) {
    if (one.holder == holder && one.name == name) return one.value;
  }
  return kUnknown;
}

void Evaluator::leave_way(std::size_t mark) {
  std::vector<Assigned> gone(assigned_.begin() + static_cast<std::ptrdiff_t>(mark), assigned_.end());
  assigned_.resize(mark);
  for (Assigned& one : gone) {
    if (assigned(one.holder, one.name) == kUnknown) continue;
    one.value = kUnknown;
    assigned_.push_back(std::move(one));
  }
}

std::vector<LoopUse> Evaluator::loops_since(Depth outer) const {
  std::vector<LoopUse> uses;
  for (std::size_t i = outer.loops; i < loops_.size(); ++i) uses.push_back({loops_[i].id, loops_[i].passes});
  return uses;
}

Evaluator::KeptPasses::KeptPasses(Evaluator& evaluator) : evaluator_(evaluator) {
  for (const Loop& loop : evaluator.loops_) kept_.push_back(loop.passes);
}

Evaluator::KeptPasses::~KeptPasses() {
  for (std::size_t i = 0; i < std::min(kept_.size(), evaluator_.loops_.size()); ++i) evaluator_.loops_[i].passes = kept_[i];
}

ValueId Evaluator::parametrization(ValueId object_value) {
  const Value& value = at(object_value);
  if (value.kind != Kind::instance || !value.spot.known()) return kUnknown;
  const auto [known, fresh] = parametrizations_.try_emplace(object_value, kUnknown);
  if (fresh) known->second = add({.kind = Kind::place, .of = object_value, .spot = Spot(value.spot)});
  return known->second;
}

const std::vector<Slot>& Evaluator::entries(ValueId object_value) {
  construct(object_value);
  return at(object_value).entries;
}

std::vector<Spot> Evaluator::made_at(ValueId object_value) const {
  std::vector<Spot> spots;
  for (TrailId trail = at(object_value).trail; trail != kNoTrail; trail = trails_[trail].outer) {
    const Node call = trails_[trail].call;
    if (call) spots.push_back({call.code, call.range(), qualified_name(call)});
  }
  return spots;
}

void Evaluator::construct(ValueId instance) {
  Value& value = values_[instance];
  if (value.kind != Kind::instance || value.ready) return;
  value.ready = true;
  if (value.type == kNoClass || is_torch(value.type)) return;
  ValueId constructor = method(value.type, "__init__", instance);
  if (at(constructor).kind != Kind::function) {
    const std::vector<Argument> given = value.arguments;
    const std::vector<Slot> kept = fields(value.type, value.trail != kNoTrail ? &given : nullptr);
    if (!kept.empty()) constructor = method(value.type, "__post_init__", instance);
    values_[instance].slots.insert(values_[instance].slots.end(), kept.begin(), kept.end());
  }
  const Value& function = at(constructor);
  if (function.kind != Kind::function || !function.node) return;
  // Its constructor ran under the conditions under which it was made, not those under which somebody asks.
  const Depth made = value.depth;
  const std::uint32_t branches = std::exchange(branch_depth_, made.branches), undecided = std::exchange(undecided_, made.undecided);
  value.depth = depth();
  const Allowance allowance(*this, kBodyBudget);
  const KeptPasses kept(*this);
  // Nothing is known of the arguments of an object that nobody was seen to make.
  const bool known = value.trail != kNoTrail;
  const std::vector<Argument> arguments = value.arguments;
  auto scope = std::make_shared<Scope>();
  Interpreter run(*this, {.code = function.node.code,
                          .scope = scope,
                          .self = instance,
                          .owner = function.type,
                          .trail = value.trail,
                          .activation = next_activation_++});
  bind_parameters(run, function.node, instance, known ? &arguments : nullptr, *scope);
  ran_.insert(function.node.id());
  if (const Node body = function.node.field("body")) run.run(body);
  follow_later(instance);
  values_[instance].depth = made;
  branch_depth_ = branches;
  undecided_ = undecided;
}

bool Evaluator::hold_modules(const std::vector<Argument>& arguments) const {
  return std::ranges::any_of(arguments, [&](const Argument& argument) {
    return std::ranges::any_of(alternatives(argument.value), [&](ValueId one) {
      const Value& value = at(object(one));
      if (value.kind == Kind::instance) return value.type == kNoClass ? at(one).kind == Kind::place : is_module(value.type);
      return (value.kind == Kind::list || value.kind == Kind::mapping) && !value.entries.empty();
    });
  });
}

const Pattern& Evaluator::calls_of(Node function, ValueId self, const std::vector<Argument>* arguments) {
  const auto [known, fresh] = patterns_.try_emplace({function.id(), self, arguments});
  Pattern& pattern = known->second;
  if (!fresh) return pattern;
  const Allowance allowance(*this, kBodyBudget);
  auto scope = std::make_shared<Scope>();
  Interpreter::Frame frame{.code = function.code, .scope = scope, .self = self, .activation = next_activation_++};
  const Node holder = function.parent() && function.parent().is("decorated_definition") ? function.parent().parent() : function.parent();
  const Node around = holder ? holder.parent() : Node{};
  if (around && around.is("class_definition")) frame.owner = class_of(around);
  const Node outer = enclosing(function, "function_definition");
  const bool nested = outer && !(around && around.is("class_definition"));
  if (nested) {
    // The names of the function around it, in which it is a closure.
    auto names = std::make_shared<Scope>();
    Interpreter maker(*this, {.code = function.code, .scope = names, .self = self, .activation = next_activation_++});
    const Node method_of = enclosing(outer, "class_definition");
    bind_parameters(maker, outer, method_of ? self : kUnknown, nullptr, *names);
    if (const Node body = outer.field("body")) maker.run(body);
    scope->outer = std::move(names);
  }
  Interpreter run(*this, frame, &pattern);
  const ClassId own = at(self).type;
  const bool bound =
      frame.owner != kNoClass && own != kNoClass && std::ranges::find(classes_[own].order, frame.owner) != classes_[own].order.end();
  bind_parameters(run, function, bound ? self : kUnknown, arguments, *scope);
  if (const Node body = function.field("body")) run.run(body);
  run.edge(run.at_, 1);
  return pattern;
}

}  // namespace hotlens::guess
