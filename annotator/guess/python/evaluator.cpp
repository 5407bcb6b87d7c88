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

// Whether two names can be one: what is known of how they begin and end must not contradict.
bool may_be_same(std::string_view a, std::string_view b) {
  const auto head = [](std::string_view name) { return name.substr(0, name.find('*')); };
  const bool open = head(a) != a && head(b) != b;
  return fits(a, b) || fits(b, a) || (open && (head(a).starts_with(head(b)) || head(b).starts_with(head(a))));
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
  construct(object_value);
  const auto named = [&](const std::vector<Slot>& slots, const auto& is) {
    std::vector<ValueId> found;
    for (const Slot& slot : slots) {
      if (is(slot)) found.push_back(slot.value);
    }
    return any(found);
  };
  const auto exactly = [&](const Slot& slot) { return slot.name == name; };
  if (const ValueId found = named(at(object_value).slots, exactly); found != kUnknown) return found;
  if (const ValueId found = named(at(object_value).entries, exactly); found != kUnknown) return found;
  if (const ValueId found = method(at(object_value).type, name, object_value); found != kUnknown) return found;
  return named(at(object_value).slots, [&](const Slot& slot) { return may_be_same(slot.name, name); });
}

std::vector<std::uint32_t> Evaluator::loops_since(Depth outer) const {
  return {loops_.begin() + std::min<std::ptrdiff_t>(outer.loops, std::ssize(loops_)), loops_.end()};
}

std::vector<std::uint32_t> Evaluator::one_more_loop() {
  std::vector<std::uint32_t> loops = loops_;
  loops.push_back(next_loop_++);
  return loops;
}

const std::vector<Slot>& Evaluator::entries(ValueId object_value) {
  construct(object_value);
  return at(object_value).entries;
}

Node Evaluator::made_at(ValueId object_value) const {
  const TrailId trail = at(object_value).trail;
  return trail != kNoTrail ? trails_[trail].call : Node{};
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
  run_method(function.node, instance, function.type, given);
  follow_later(instance);
}

void Evaluator::run_method(Node function, ValueId self, ClassId owner, const std::vector<Argument>* given) {
  Interpreter run(*this, {.code = function.code, .self = self, .owner = owner, .trail = at(self).trail, .activation = next_activation_++});
  run.run_function(function, self, given);
}

Container Evaluator::form(const Value& value) const {
  if (value.kind == Kind::list) return Container::list;
  if (value.kind == Kind::mapping) return Container::mapping;
  return value.kind == Kind::instance ? container(value.type) : Container::none;
}

bool Evaluator::iterates(const Value& value) const {
  return form(value) != Container::none && value.kind != Kind::mapping;
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
  run.run_function(function, inherits(at(self).type, frame.owner) ? self : kUnknown, nullptr);
  run.edge(run.at_, 1);
  return pattern;
}

}  // namespace hotlens::guess
