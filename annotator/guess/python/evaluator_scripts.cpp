// What a script makes: its top level is followed, then the functions that nobody called there; and what it may do to a model afterwards.
#include <utility>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::int64_t kScriptBudget = 200'000;  // expressions; a training script of 1,000 lines needs 20,000

// Functions of the top level and methods of its classes, in the order of the text; those inside functions run with these.
std::vector<Node> outer_functions(const Code& code) {
  std::vector<Node> found;
  walk(code.root(), [&](Node node) {
    const bool function = node.is("function_definition");
    if (function) found.push_back(node);
    return !function;
  });
  return found;
}

}  // namespace

std::vector<ValueId> Evaluator::made_by(const Code& script, std::string_view type) {
  std::vector<ValueId> made;
  const Temporarily budget(floor_, floor_for(kScriptBudget));
  const Temporarily watched(watched_, Watched{.type = std::string(type), .made = &made});
  Interpreter(*this, {.code = &script, .activation = next_activation_++}).run(script.root());
  for (const Node& function : outer_functions(script)) {
    const Node holder = enclosing(function, "class_definition");
    const ClassId owner = holder ? class_of(holder) : kNoClass;
    if (ran_.contains(function.id()) || is_module(owner) || function.text().find(type) == std::string_view::npos) continue;
    const ValueId self = owner != kNoClass ? some(owner) : kUnknown;
    Interpreter run(*this, {.code = &script, .self = self, .owner = owner, .activation = next_activation_++});
    run.run_function(function, self, nullptr);
  }
  return made;
}

// Methods that a script calls and attributes that it sets, of this object or of another with the same names: as behind a condition.
void Evaluator::follow_later(ValueId instance) {
  const std::size_t mark = assigned_.size();
  const Temporarily branches(branch_depth_, branch_depth_ + 1);
  std::set<std::string> seen{"__init__", "__call__", "forward"};
  for (const ClassId type : std::vector(classes_[at(instance).type].order)) {
    const auto names = classes_[type].names;
    for (const std::string& name : later_.called) {
      const auto method = names.find(name);
      if (method == names.end() || !seen.insert(name).second) continue;
      const Node function = method->second.back().node;
      if (method->second.back().kind != Binding::Kind::function || ran_.contains(function.id())) continue;
      Interpreter run(
          *this, {.code = function.code, .self = instance, .owner = type, .trail = at(instance).trail, .activation = next_activation_++});
      run.run_function(function, instance, nullptr);
    }
  }
  for (const Afterwards::Given& given : later_.given) follow_given(instance, given);
  leave_way(mark);
}

// A module that is given to an attribute, or to an entry of one, may stand in its place. Under a name that nobody knows it may stand in the
// place of any other module, here or in a container.
void Evaluator::follow_given(ValueId instance, const Afterwards::Given& given) {
  const bool anywhere = given.name == "*";
  std::set<std::string> names, attached;
  for (const Slot& slot : at(instance).slots) {
    const bool module = at(slot.value).kind == Kind::place && what(slot.value).kind == Kind::instance;
    if (anywhere ? module : slot.name == given.name) names.insert(slot.name);
  }
  if (names.empty()) return;
  Interpreter top(*this, {.code = given.value.code});
  const ValueId made = top.evaluate(given.value);
  const ClassId type = what(made).type;
  if (anywhere && (what(made).kind != Kind::instance || type == kNoClass)) return;
  for (const Slot& slot : std::vector(at(instance).slots)) {
    if (!names.contains(slot.name)) continue;
    const Value& held = what(slot.value);
    const bool list = held.kind == Kind::instance && container(held.type) != Container::none;
    if (list && (given.entry || anywhere)) top.replace_entry(object(slot.value), made, given.statement);
    const bool alike = !anywhere || !list || held.type == type;
    if (!given.entry && alike && attached.insert(slot.name).second) top.attach(instance, slot.name, made, given.statement);
  }
}

}  // namespace hotlens::guess
