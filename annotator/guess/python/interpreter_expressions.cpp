// Expressions: names, attributes, literals, conditions. Each kind of syntax has one function; of other kinds the parts are evaluated.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

// The text of a string literal; '*' where something is put in.
std::string literal_text(Node node) {
  std::string text;
  for (const Node& part : node.children()) {
    if (part.is("string_content")) text += part.text();
    if (part.is("interpolation")) text += '*';
    if (part.is("string")) text += literal_text(part);
  }
  return text;
}

}  // namespace

std::string before_hole(const std::string& text, char hole) {
  return text.substr(0, text.find(hole)) + '*';
}

ValueId Interpreter::evaluate(Node node) {
  if (!node || e_.nesting_ >= Evaluator::kNesting || !e_.spend()) return kUnknown;
  const Temporarily deeper(e_.nesting_, e_.nesting_ + 1);
  using Form = ValueId (Interpreter::*)(Node);
  static const std::unordered_map<std::string_view, Form> kForms{
      {"identifier", &Interpreter::identifier},
      {"call", &Interpreter::call_expression},
      {"attribute", &Interpreter::attribute},
      {"assignment", &Interpreter::assignment},
      {"named_expression", &Interpreter::assignment},
      {"augmented_assignment", &Interpreter::augmented},
      {"subscript", &Interpreter::subscript},
      {"list", &Interpreter::literal_list},
      {"tuple", &Interpreter::literal_list},
      {"set", &Interpreter::literal_list},
      {"expression_list", &Interpreter::literal_list},
      {"list_comprehension", &Interpreter::comprehension},
      {"generator_expression", &Interpreter::comprehension},
      {"set_comprehension", &Interpreter::comprehension},
      {"dictionary_comprehension", &Interpreter::comprehension},
      {"dictionary", &Interpreter::dictionary},
      {"conditional_expression", &Interpreter::choice},
      {"boolean_operator", &Interpreter::either},
      {"binary_operator", &Interpreter::operation},
      {"string", &Interpreter::literal_string},
      {"concatenated_string", &Interpreter::literal_string},
      {"lambda", &Interpreter::lambda},
      {"parenthesized_expression", &Interpreter::first_part},
      {"await", &Interpreter::first_part},
      {"integer", &Interpreter::constant},
      {"true", &Interpreter::constant},
      {"false", &Interpreter::constant},
      {"none", &Interpreter::constant},
      {"float", &Interpreter::computed},
      {"ellipsis", &Interpreter::computed},
      {"comparison_operator", &Interpreter::computed},
      {"not_operator", &Interpreter::computed},
  };
  if (const auto form = kForms.find(node.kind()); form != kForms.end()) return (this->*form->second)(node);
  return evaluate_parts(node);
}

ValueId Interpreter::evaluate_parts(Node node) {
  for (const Node& part : node.children()) evaluate(part);
  return kUnknown;
}

ValueId Interpreter::first_part(Node node) {
  return evaluate(node.child());
}

// A constant whose value decides conditions.
ValueId Interpreter::constant(Node node) {
  return e_.add({.kind = Kind::constant, .name = std::string(node.text())});
}

ValueId Interpreter::computed(Node node) {
  evaluate_parts(node);
  return number();
}

ValueId Interpreter::literal_string(Node node) {
  for (const Node& part : node.children("interpolation")) evaluate_parts(part);
  return e_.add({.kind = Kind::text, .name = literal_text(node)});
}

ValueId Interpreter::lambda(Node node) {
  return e_.add({.kind = Kind::function, .name = "<lambda>", .node = node, .scope = frame_.scope});
}

ValueId Interpreter::identifier(Node node) {
  const std::string name(node.text());
  for (const Scope* scope = frame_.scope.get(); scope != nullptr; scope = scope->outer.get()) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  const bool bound = frame_.code->names().contains(name);
  if (const ValueId value = e_.name_in(*frame_.code, name); value != kUnknown || bound) return value;
  return e_.external(name);  // a builtin
}

// `a = b`, `(a := b)`
ValueId Interpreter::assignment(Node node) {
  const bool inside = node.is("named_expression");
  const Node given = node.field(inside ? "value" : "right");
  if (!given) return kUnknown;
  const ValueId value = evaluate(given);
  assign(node.field(inside ? "name" : "left"), value, node);
  return value;
}

ValueId Interpreter::attribute(Node node) {
  return member(evaluate(node.field("object")), std::string(node.field("attribute").text()));
}

ValueId Interpreter::member(ValueId object, const std::string& name) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(object)) out.push_back(member_of(e_.object(one), name));
  return e_.any(out);
}

ValueId Interpreter::member_of(ValueId id, const std::string& name) {
  const Value& value = e_.at(id);
  const auto by_name = [&] { return e_.add({.kind = Kind::method, .name = name, .of = id}); };
  switch (value.kind) {
    case Kind::instance: {
      const ValueId found = e_.attribute(id, name);
      return found != kUnknown ? found : by_name();  // containers, lists and dicts have methods that no source tells
    }
    case Kind::list:
    case Kind::mapping:
    case Kind::text:
      return by_name();
    case Kind::type:
      if (name == "__name__") return e_.add({.kind = Kind::text, .name = e_.type(value.type).name});
      return e_.method(value.type, name, kUnknown);
    case Kind::super: {
      const ClassId type = e_.at(value.self).type == kNoClass ? value.type : e_.at(value.self).type;
      const std::vector<ClassId>& order = e_.type(type).order;
      const auto own = std::ranges::find(order, value.type);
      if (own == order.end()) return kUnknown;
      return e_.method(e_.at(value.self).type, name, value.self, static_cast<std::size_t>(own - order.begin()) + 1);
    }
    case Kind::file: {
      const ValueId found = e_.name_in(*value.node.code, name);
      return found != kUnknown ? found : e_.import_module(value.name + "." + name, *frame_.code);
    }
    case Kind::external:
      return e_.external(value.name + "." + name);
    default:
      return held_by_self(name);
  }
}

// A function that is given the module whose forward runs it (`attn.to_q(x)` in a processor): what is read from a value that is not known
// is the running module's own child, should it have one of that name.
ValueId Interpreter::held_by_self(const std::string& name) {
  if (pattern_ == nullptr || frame_.self == kUnknown) return kUnknown;
  const ValueId held = e_.attribute(frame_.self, name);
  const bool child = std::ranges::any_of(e_.alternatives(held), [&](ValueId one) { return e_.at(one).kind == Kind::place; });
  return child ? held : kUnknown;
}

// `a if c else b`
ValueId Interpreter::choice(Node node) {
  const std::vector<Node> parts = node.children();
  if (parts.size() != 3) return evaluate_parts(node);
  evaluate(parts[1]);
  if (const std::optional<bool> holds = truth(parts[1])) return evaluate(parts[*holds ? 0 : 2]);
  const Temporarily branches(e_.branch_depth_, e_.branch_depth_ + 1);
  const std::uint32_t from = at_, to = state();
  const ValueId first = evaluate(parts[0]);
  edge(std::exchange(at_, from), to);
  const ValueId second = evaluate(parts[2]);
  edge(std::exchange(at_, to), to);
  return e_.any({first, second});
}

// `a and b`, `a or b`
ValueId Interpreter::either(Node node) {
  const Node left = node.field("left"), right = node.field("right");
  if (const std::optional<bool> first = truth(left)) return evaluate(*first == (node.field("operator").text() == "and") ? right : left);
  const ValueId one = evaluate(left);
  const std::uint32_t from = at_, to = state();
  edge(from, to);
  const ValueId other = evaluate(right);
  edge(std::exchange(at_, to), to);
  return e_.any({one, other});
}

ValueId Interpreter::operation(Node node) {
  const ValueId left = evaluate(node.field("left")), right = evaluate(node.field("right"));
  const std::string_view op = node.field("operator").text();
  if (e_.at(left).kind == Kind::text && op == "%") return e_.add({.kind = Kind::text, .name = before_hole(e_.at(left).name, '%')});
  if (e_.at(left).kind == Kind::text && op == "+") return e_.add({.kind = Kind::text, .name = e_.at(left).name + text_of(right)});
  const bool from_left = e_.at(left).kind == Kind::list, lists = from_left || e_.at(right).kind == Kind::list;
  if (!lists || (op != "+" && op != "*")) return contains(std::array{"*", "-", "/", "//", "%", "**"}, op) ? number() : kUnknown;
  const ValueId list = new_list();
  if (op == "*") {
    const Temporarily repeated(e_.loops_, e_.one_more_loop());
    fill_all(list, from_left ? left : right, node);
  } else {
    fill_all(list, left, node);
    fill_all(list, right, node);
  }
  return list;
}

std::string Interpreter::text_of(ValueId value) const {
  return e_.at(value).kind == Kind::text ? e_.at(value).name : "*";
}

}  // namespace hotlens::guess
