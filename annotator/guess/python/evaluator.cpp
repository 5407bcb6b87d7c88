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
    for (const ValueId one : at(option).kind == Kind::any ? at(option).options : std::vector{option}) {
      if (flat.size() < kMostAlternatives) add_once(flat, one);
    }
  }
  if (flat.empty()) return kUnknown;
  if (flat.size() == 1) return flat.front();
  return add({.kind = Kind::any, .options = std::move(flat)});
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
  if (fresh) known->second = add({.kind = Kind::instance, .type = type, .arguments = at(value).arguments, .trail = at(value).trail});
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

std::vector<std::uint32_t> Evaluator::loops_since(Depth outer) const {
  return {loops_.begin() + std::min<std::ptrdiff_t>(outer.loops, std::ssize(loops_)), loops_.end()};
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
  // Nothing is known of the arguments of an object that nobody was seen to make.
  const std::vector<Argument> arguments = value.arguments;
  const std::vector<Argument>* given = value.trail != kNoTrail ? &arguments : nullptr;
  const Value& function = at(method(value.type, "__init__", instance));
  if (function.kind != Kind::function) return;
  // Its constructor ran under the conditions under which it was made, not those under which somebody asks.
  const Temporarily branches(branch_depth_, value.depth.branches);
  const Temporarily made(value.depth, depth());
  const Temporarily budget(floor_, floor_for(kBodyBudget));
  ran_.insert(function.node.id());
  Interpreter run(
      *this,
      {.code = function.node.code, .self = instance, .owner = function.type, .trail = value.trail, .activation = next_activation_++});
  run.run_function(function.node, instance, given);
  follow_later(instance);
}

bool Evaluator::is_list(const Value& value) const {
  const Container kind = value.kind == Kind::instance ? container(value.type) : Container::none;
  return value.kind == Kind::list || kind == Container::list || kind == Container::sequential;
}

bool Evaluator::is_mapping(const Value& value) const {
  return value.kind == Kind::mapping || (value.kind == Kind::instance && container(value.type) == Container::mapping);
}

bool Evaluator::iterates(const Value& value) const {
  return value.kind == Kind::list || (value.kind == Kind::instance && container(value.type) != Container::none);
}

bool Evaluator::may_be_module(const Value& value) const {
  return value.kind == Kind::instance && (value.type == kNoClass || is_module(value.type));
}

const Pattern& Evaluator::calls_of(Node function, ValueId self) {
  const auto [known, fresh] = patterns_.try_emplace({function.id(), self});
  Pattern& pattern = known->second;
  if (!fresh) return pattern;
  const Temporarily budget(floor_, floor_for(kBodyBudget));
  Interpreter::Frame frame{.code = function.code, .self = self, .activation = next_activation_++};
  const Node holder = function.parent().is("decorated_definition") ? function.parent().parent() : function.parent();
  if (holder.parent().is("class_definition")) frame.owner = class_of(holder.parent());
  Interpreter run(*this, frame, &pattern);
  const ClassId own = at(self).type;
  const bool bound =
      frame.owner != kNoClass && own != kNoClass && std::ranges::find(classes_[own].order, frame.owner) != classes_[own].order.end();
  run.run_function(function, bound ? self : kUnknown, nullptr);
  run.edge(run.at_, 1);
  return pattern;
}

}  // namespace hotlens::guess
