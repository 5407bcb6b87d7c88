#include "annotator/lab/layers/effects/places.h"

#include <algorithm>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/match/loops.h"

namespace hotlens::layers {

bool Places::followed(Node node) const {
  const Node function = function_around(node);
  if (function && !edited_.interpreter.ran(function.id())) return false;
  Node statement = source::statement_of(node);
  while (statement.is("decorated_definition")) statement = source::statement_of(statement.parent());
  const bool header = statement.is("function_definition") || statement.is("class_definition");
  return header || edited_.interpreter.visited(statement.id());
}

bool Places::never_runs(Node node) const {
  bool passed = false;
  for (Node up = node.parent(); up && !up.is("function_definition"); up = up.parent()) {
    if (edited_.interpreter.forgotten(up.id())) return false;
    passed = passed || edited_.interpreter.passed(up.id());
  }
  const Node function = function_around(node);
  return passed && function && edited_.interpreter.ran(function.id());
}

bool Places::is_inside_maker(Node node) const {
  const Node function = function_around(node);
  return function && (is_init(function) || building_.makes_alone(function));
}

bool Places::is_in_package_maker(Node node) const {
  const Node function = function_around(node);
  return edited_.sources.packages.contains(node.code->path()) && function && edited_.interpreter.makes(function.id());
}

bool Places::only_raises(Node choice) const {
  const Node body = choice.field("consequence");
  const auto statements = body.children();
  return choice.is("if_statement") && choice.children("else_clause").empty() && choice.children("elif_clause").empty() &&
         edited_.interpreter.passed(body.id()) && statements.size() == 1 && statements[0].is("raise_statement");
}

bool Places::only_keeps(Node choice) const {
  if (!choice.is("if_statement") || edited_.interpreter.forgotten(choice.id()) || !is_inside_maker(choice)) return false;
  const auto keeps = [](const Node& statement) {
    const auto parts = statement.children();
    const bool assigns = statement.is("expression_statement") && parts.size() == 1 && parts[0].is("assignment");
    return statement.is("raise_statement") || statement.is("if_statement") ||
           (assigns && parts[0].field("left").is("attribute") && parts[0].field("left").field("object").text() == "self");
  };
  bool all = true;
  source::walk(choice, [&](Node node) {
    if (node.is("block")) all = all && std::ranges::all_of(node.children(), keeps);
    return all;
  });
  return all;
}

bool Places::fills_nothing(Node loop) const {
  const bool once = loop.is("if_statement") && loop.children("else_clause").empty() && loop.children("elif_clause").empty();
  const Node body = loop.field(once ? "consequence" : "body");
  const bool made = source::enclosing(loop, "class_definition") || is_inside_maker(loop);
  if ((!loop.is("for_statement") && !once) || !made || !edited_.interpreter.passed(body.id())) return false;
  return std::ranges::all_of(body.children(), [](const Node& statement) {
    const auto parts = statement.children();
    const Node call = statement.is("expression_statement") && parts.size() == 1 ? parts[0] : Node{};
    const Node function = call.is("call") ? call.field("function") : Node{};
    return function.is("attribute") && function.field("attribute").text() == "append" && function.field("object").is("identifier");
  });
}

bool Places::chooses_layers(Node choice, Node condition) const {
  const auto parts = choice.children();
  return parts.size() == 3 && parts[1].id() == condition.id() && is_inside_maker(choice) && building_.is_building(parts[0]) &&
         building_.is_building(parts[2]);
}

bool Places::names_layer(Node call, Node given) const {
  const Node function = call.field("function");
  const auto all = call.field("arguments").children();
  if (function.text() == "setattr") return all.size() == 3 && all[1].id() == given.id() && building_.is_building(all[2]);
  const std::string_view last = function.is("attribute") ? function.field("attribute").text() : std::string_view();
  return (last == "add_module" || last == "register_module") && all.size() == 2 && all[0].id() == given.id();
}

bool Places::calls_layer(Node use) const {
  const Node call = use.parent();
  if (!use.is("attribute") || !call.is("call") || !is_field_of(use, call, "function")) return false;
  const std::string_view name = use.field("attribute").text();
  const auto& modules = edited_.interpreter.modules();
  return std::ranges::all_of(modules, [&](const Ref& module) {
    return std::ranges::all_of(module->attributes,
                               [&](const auto& one) { return one.first != name || is_module(one.second) || is_plain(*one.second); });
  });
}

bool Places::is_compared(Node use) const {
  Node chain = use;
  while (chain.field("object").is("attribute")) chain = chain.field("object");
  return edited_.sources.packages.contains(use.code->path()) && chain.field("object").text() == "self" && is_in_class_of_module(use);
}

bool Places::is_in_class_of_module(Node use) const {
  const Node type = source::enclosing(use, "class_definition");
  return type && std::ranges::any_of(edited_.interpreter.modules(), [&](const Ref& module) {
           return module->self->kind == Value::Kind::type &&
                  std::ranges::any_of(edited_.interpreter.order(module->self), [&](const Ref& one) { return one->node.id() == type.id(); });
         });
}

bool Places::is_held_by_modules(Node use) const {
  const Node type = source::enclosing(use, "class_definition");
  const std::string_view name = use.field("attribute").text();
  return std::ranges::all_of(edited_.interpreter.modules(), [&](const Ref& module) {
    if (module->self->kind != Value::Kind::type) return true;
    const auto order = edited_.interpreter.order(module->self);
    const Ref held = attribute_of(*module, name);
    return std::ranges::none_of(order, [&](const Ref& one) { return one->node.id() == type.id(); }) ||
           (held && (is_plain(*held) || held->kind == Value::Kind::unknown));
  });
}

bool Places::bounds_list(Node use) const {
  Node chain = use;
  while (chain.parent().is("attribute")) chain = chain.parent();
  return chain.text().starts_with("self.") && is_bound_of_list(chain);
}

bool Places::is_size_in_loop(Node use) const {
  const Node statement = source::statement_of(use);
  const bool script = use.code->path() == edited_.sources.script && !function_around(use) && use.is("identifier");
  return script && (source::enclosing(statement, "for_statement") || source::enclosing(statement, "while_statement")) && is_size(use);
}

}  // namespace hotlens::layers
