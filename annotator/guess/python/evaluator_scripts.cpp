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

bool is_of_self(Node attribute) {
  return attribute.field("object").text() == "self";
}

// The text of a string; '*' for every other expression.
std::string name_in(Node expression) {
  const std::vector<Node> text = expression.is("string") ? expression.children() : std::vector<Node>{};
  return text.size() == 3 && text[1].is("string_content") ? std::string(text[1].text()) : "*";
}

void note_call(Node call, Afterwards& found) {
  const Node callee = call.field("function");
  const std::string name(callee.field("attribute").text());
  if (!name.empty() && name != "__init__" && name != "__call__" && name != "forward") found.called.insert(name);
  const std::vector<Node> given = call.field("arguments").children();
  const bool sets = callee.text() == "setattr" && given.size() == 3 && given[0].text() != "self";
  if (sets) found.given.push_back({.name = name_in(given[1]), .value = given[2], .statement = call});
}

void note_assignment(Node node, Afterwards& found) {
  const Node target = node.field("left"), value = node.field("right");
  const bool entry = target.is("subscript");
  const Node attribute = entry ? target.field("value") : target;
  if (!value || !attribute.is("attribute") || is_of_self(attribute)) return;
  const std::string name(attribute.field("attribute").text());
  if (entry && name == "_modules") {
    found.given.push_back({.name = name_in(target.field("subscript")), .value = value, .statement = node});
  } else {
    found.given.push_back({.name = name, .entry = entry, .value = value, .statement = node});
  }
}

}  // namespace

Afterwards afterwards(const std::vector<const Code*>& scripts) {
  Afterwards found;
  const auto note = [&](Node node) {
    if (node.is("call")) note_call(node, found);
    if (node.is("assignment")) note_assignment(node, found);
    return true;
  };
  for (const Code* script : scripts) walk(script->root(), note);
  return found;
}

std::vector<ValueId> Evaluator::made_by(const Code& script, std::string_view type) {
  const Temporarily budget(floor_, floor_for(kScriptBudget));
  const Temporarily watched(watched_, std::string(type));
  Interpreter(*this, {.code = &script, .activation = next_activation_++}).run(script.root());
  for (const Node& function : outer_functions(script)) {
    const Node holder = enclosing(function, "class_definition");
    const ClassId owner = holder ? class_of(holder) : kNoClass;
    if (ran_.contains(function.id()) || is_module(owner) || function.text().find(type) == std::string_view::npos) continue;
    run_method(function, owner != kNoClass ? some(owner) : kUnknown, owner, nullptr);
  }
  return std::exchange(watched_made_, {});
}

// Methods that a script calls and attributes that it sets, of this object or of another with the same names: as behind a condition.
void Evaluator::follow_later(ValueId instance) {
  const Temporarily branches(branch_depth_, branch_depth_ + 1);
  for (const std::string& name : later_.called) {
    const Value& called = at(method(at(instance).type, name, instance));
    if (called.kind == Kind::function && !ran_.contains(called.node.id())) run_method(called.node, instance, called.type, nullptr);
  }
  for (const Afterwards::Given& given : later_.given) follow_given(instance, given);
}

// A module that is given to an attribute, or to an entry of one, may stand in its place. Under a name that nobody knows it may stand in the
// place of any other module, here or in a container.
void Evaluator::follow_given(ValueId instance, const Afterwards::Given& given) {
  const bool anywhere = given.name == "*";
  std::vector<Slot> slots = at(instance).slots;
  std::erase_if(slots, [&](const Slot& slot) {
    const bool module = at(slot.value).kind == Kind::place && what(slot.value).kind == Kind::instance;
    return anywhere ? !module : slot.name != given.name;
  });
  if (slots.empty()) return;
  Interpreter top(*this, {.code = given.value.code});
  const ValueId made = top.evaluate(given.value);
  if (anywhere && what(made).type == kNoClass) return;
  for (const Slot& slot : slots) {
    const ValueId held = object(slot.value);
    const bool list = at(held).kind == Kind::instance && container(at(held).type) != Container::none;
    if (list && (given.entry || anywhere)) top.replace_entry(held, made, given.statement);
    if (!given.entry) top.attach(instance, slot.name, made, given.statement);
  }
}

}  // namespace hotlens::guess
