// What a script makes: its top level is followed, then the functions that nobody called there; and what it may do to a model afterwards.
#include <utility>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::int64_t kScriptBudget = 200'000;  // expressions; a training script of 1,000 lines needs 20,000

// Functions of the top level and methods of its classes, in the order of the text; those inside functions run with these.
std::vector<Node> outer_functions(const Code& code) {
  std::vector<Node> found, open{code.root()};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("function_definition")) {
      found.push_back(node);
      continue;
    }
    const std::vector<Node> below = node.children();
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return found;
}

}  // namespace

std::vector<ValueId> Evaluator::made_by(const Code& script, std::string_view type) {
  std::vector<ValueId> made;
  const Allowance allowance(*this, kScriptBudget);
  const auto outer = std::exchange(watched_, Watched{.type = std::string(type), .made = &made});
  Interpreter(*this, {.code = &script, .scope = std::make_shared<Scope>(), .activation = next_activation_++}).run(script.root());
  for (const Node& function : outer_functions(script)) {
    const Node holder = enclosing(function, "class_definition");
    const ClassId owner = holder ? class_of(holder) : kNoClass;
    if (ran_.contains(function.id()) || is_module(owner) || function.text().find(type) == std::string_view::npos) continue;
    const ValueId self = owner != kNoClass ? some(owner) : kUnknown;
    auto scope = std::make_shared<Scope>();
    Interpreter run(*this, {.code = &script, .scope = scope, .self = self, .owner = owner, .activation = next_activation_++});
    bind_parameters(run, function, self, nullptr, *scope);
    if (const Node body = function.field("body")) run.run(body);
  }
  watched_ = outer;
  return made;
}

// Methods that a script calls and attributes that it sets, of this object or of another with the same names: as behind a condition.
void Evaluator::follow_later(ValueId instance) {
  const std::size_t mark = assigned_.size();
  ++branch_depth_;
  ++undecided_;
  std::set<std::string> seen{"__init__", "__call__", "forward"};
  for (const ClassId type : std::vector(classes_[at(instance).type].order)) {
    if (!classes_[type].node) continue;
    const auto names = classes_[type].names;
    for (const std::string& name : later_.called) {
      const auto method = names.find(name);
      if (method == names.end() || !seen.insert(name).second) continue;
      const Node function = method->second.back().node;
      if (method->second.back().kind != Binding::Kind::function || ran_.contains(function.id())) continue;
      auto scope = std::make_shared<Scope>();
      Interpreter run(*this, {.code = function.code,
                              .scope = scope,
                              .self = instance,
                              .owner = type,
                              .trail = at(instance).trail,
                              .activation = next_activation_++});
      bind_parameters(run, function, instance, nullptr, *scope);
      if (const Node body = function.field("body")) run.run(body);
    }
  }
  for (const auto& [name, given] : later_.assigned) {
    if (std::ranges::none_of(at(instance).slots, [&](const Slot& slot) { return slot.name == name; })) continue;
    Interpreter top(*this, {.code = given.value.code, .scope = std::make_shared<Scope>()});
    top.attach(instance, name, top.evaluate(given.value), given.statement);
  }
  for (const auto& [name, given] : later_.entered) {
    for (const Slot& slot : std::vector(at(instance).slots)) {
      const ValueId held = object(slot.value);
      if (slot.name != name || at(held).kind != Kind::instance || container(at(held).type) == Container::none) continue;
      Interpreter top(*this, {.code = given.value.code, .scope = std::make_shared<Scope>()});
      top.replace_entry(held, given.statement.field("left").field("subscript"), top.evaluate(given.value), given.statement);
    }
  }
  for (const Afterwards::Given& given : later_.anywhere) follow_replacement(instance, given);
  --branch_depth_;
  --undecided_;
  leave_way(mark);
}

// A module given under a name that nobody knows may stand in the place of any other, here or in a container.
void Evaluator::follow_replacement(ValueId instance, const Afterwards::Given& given) {
  Interpreter top(*this, {.code = given.value.code, .scope = std::make_shared<Scope>()});
  const ValueId made = top.evaluate(given.value);
  const ClassId type = at(object(made)).type;
  if (at(object(made)).kind != Kind::instance || type == kNoClass) return;
  std::set<std::string> seen;
  for (const Slot& slot : std::vector(at(instance).slots)) {
    const bool module = at(slot.value).kind == Kind::place && at(object(slot.value)).kind == Kind::instance;
    if (!module || !seen.insert(slot.name).second) continue;
    const ValueId held = object(slot.value);
    const bool list = container(at(held).type) != Container::none;
    if (!list || at(held).type == type) top.attach(instance, slot.name, made, given.statement);
    if (list) top.replace_entry(held, {}, made, given.statement);
  }
}

}  // namespace hotlens::guess
