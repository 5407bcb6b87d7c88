// Expressions: names, attributes, literals, conditions, comprehensions.
#include <algorithm>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

bool is_constant(std::string_view kind) {
  return kind == "integer" || kind == "float" || kind == "true" || kind == "false" || kind == "none" || kind == "ellipsis" ||
         kind == "comparison_operator" || kind == "not_operator";
}

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

std::string with_holes(const std::string& text, bool percent) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (percent && c == '%' && i + 1 < text.size()) {
      out += '*';
      ++i;
    } else if (!percent && c == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string::npos) return "*";
      out += '*';
      i = end;
    } else {
      out += c;
    }
  }
  return out;
}

ValueId Interpreter::evaluate(Node node) {
  if (!node || e_.nesting_ >= Evaluator::kNesting || !e_.spend()) return kUnknown;
  ++e_.nesting_;
  const ValueId value = expression(node);
  --e_.nesting_;
  return value;
}

ValueId Interpreter::expression(Node node) {
  const std::string_view kind = node.kind();
  if (kind == "identifier") return identifier(node);
  if (kind == "call") return call_expression(node);
  if (kind == "attribute") return member(evaluate(node.field("object")), std::string(node.field("attribute").text()));
  if (kind == "assignment") {
    const Node left = node.field("left"), right = node.field("right");
    if (!right) return kUnknown;
    const ValueId value = evaluate(right);
    assign(left, value, node);
    return value;
  }
  if (kind == "augmented_assignment") {
    augmented(node);
    return kUnknown;
  }
  if (kind == "subscript") return subscript(node);
  if (kind == "list" || kind == "tuple" || kind == "set" || kind == "expression_list") return literal_list(node);
  if (kind == "list_comprehension" || kind == "generator_expression" || kind == "set_comprehension" || kind == "dictionary_comprehension") {
    return comprehension(node);
  }
  if (kind == "dictionary") return dictionary(node);
  if (kind == "conditional_expression" || kind == "boolean_operator") return conditional(node);
  if (kind == "binary_operator") return operation(node);
  if (kind == "yield") return yielded(node);
  if (kind == "string" || kind == "concatenated_string") {
    for (const Node& part : node.children()) {
      if (part.is("interpolation")) {
        for (const Node& inner : part.children()) evaluate(inner);
      }
    }
    return e_.add({.kind = Kind::text, .name = literal_text(node)});
  }
  if (kind == "lambda") {
    Value function{.kind = Kind::function, .name = "<lambda>", .node = node, .self = kUnknown};
    function.scope = frame_.scope;
    return e_.add(std::move(function));
  }
  if (kind == "named_expression") {
    const ValueId value = evaluate(node.field("value"));
    assign(node.field("name"), value, node);
    return value;
  }
  if (kind == "parenthesized_expression" || kind == "await") {
    const std::vector<Node> inner = node.children();
    return inner.empty() ? kUnknown : evaluate(inner.front());
  }
  for (const Node& inner : node.children()) evaluate(inner);
  if (is_constant(kind)) {
    const bool told = kind == "integer" || kind == "true" || kind == "false" || kind == "none";
    return e_.add({.kind = Kind::constant, .name = told ? std::string(node.text()) : std::string()});
  }
  return kUnknown;
}

ValueId Interpreter::identifier(Node node) {
  const std::string name(node.text());
  for (const Scope* scope = frame_.scope.get(); scope != nullptr; scope = scope->outer.get()) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  const Code::Names& top = frame_.code->names();
  if (top.contains(name) || !frame_.code->star_imports().empty()) {
    if (const ValueId value = e_.name_in(*frame_.code, name); value != kUnknown || top.contains(name)) return value;
  }
  if (const ValueId value = e_.name_around(node, name); value != kUnknown) return value;
  return e_.external(name);  // a builtin
}

ValueId Interpreter::member(ValueId object, const std::string& name) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(object)) {
    const ValueId id = e_.object(one);
    const Value& value = e_.at(id);
    switch (value.kind) {
      case Kind::instance: {
        const ValueId given = e_.assigned(id, name);
        const ValueId found = given != kUnknown ? given : e_.attribute(id, name);
        // Containers, lists and dicts have methods that no source tells.
        out.push_back(found != kUnknown ? found : e_.add({.kind = Kind::method, .name = name, .of = id}));
        break;
      }
      case Kind::list: {
        const auto field = std::ranges::find(value.entries, name, &Slot::name);
        const bool named = field != value.entries.end();
        out.push_back(named ? field->value : e_.add({.kind = Kind::method, .name = name, .of = id}));
        break;
      }
      case Kind::mapping:
      case Kind::text:
        out.push_back(e_.add({.kind = Kind::method, .name = name, .of = id}));
        break;
      case Kind::type:
        if (name == "__name__") {
          out.push_back(e_.add({.kind = Kind::text, .name = e_.type(value.type).name}));
        } else {
          out.push_back(e_.method(value.type, name, kUnknown));
        }
        break;
      case Kind::super: {
        const std::vector<ClassId>& order = e_.type(e_.at(value.self).type == kNoClass ? value.type : e_.at(value.self).type).order;
        const auto own = std::ranges::find(order, value.type);
        const std::size_t after = own == order.end() ? 1 : static_cast<std::size_t>(own - order.begin()) + 1;
        out.push_back(own == order.end() ? kUnknown : e_.method(e_.at(value.self).type, name, value.self, after));
        break;
      }
      case Kind::file: {
        const Code& code = *value.node.code;
        ValueId found = e_.name_in(code, name);
        if (found == kUnknown) found = e_.import_module(value.name + "." + name, *frame_.code);
        out.push_back(found);
        break;
      }
      case Kind::external:
        out.push_back(e_.external(value.name + "." + name));
        break;
      default:
        out.push_back(held_by_self(name));
    }
  }
  return e_.any(out);
}

// A function that is given the module whose forward runs it (`attn.to_q(x)` in a processor): what is read from a value that is not known
// is the running module's own child, should it have one of that name.
ValueId Interpreter::held_by_self(const std::string& name) {
  if (pattern_ == nullptr || frame_.self == kUnknown) return kUnknown;
  const ValueId held = e_.attribute(frame_.self, name);
  const bool child = std::ranges::any_of(e_.alternatives(held), [&](ValueId one) { return e_.at(one).kind == Kind::place; });
  return child ? held : kUnknown;
}

// `a if c else b`, `a and b`, `a or b`.
ValueId Interpreter::conditional(Node node) {
  const std::vector<Node> parts = node.children();
  const bool choice = node.is("conditional_expression");
  if (choice && parts.size() == 3) {
    evaluate(parts[1]);
    if (const std::optional<bool> holds = truth(parts[1])) return evaluate(parts[*holds ? 0 : 2]);
    const std::uint32_t from = at_, to = state();
    std::vector<ValueId> values;
    for (const std::size_t part : {std::size_t{0}, std::size_t{2}}) {
      at_ = from;
      ++e_.branch_depth_;
      ++e_.undecided_;
      values.push_back(evaluate(parts[part]));
      --e_.branch_depth_;
      --e_.undecided_;
      edge(at_, to);
    }
    at_ = to;
    return e_.any(values);
  }
  const std::optional<bool> first = parts.size() == 2 && !choice ? truth(parts[0]) : std::nullopt;
  if (first) return evaluate(parts[*first == (node.field("operator").text() == "and") ? 1 : 0]);
  std::vector<ValueId> values;
  const std::uint32_t to = state();
  for (const Node& part : parts) {
    values.push_back(evaluate(part));
    edge(at_, to);
  }
  at_ = to;
  return e_.any(values);
}

// What a generator gives is an entry of a list, as if it ran at once.
ValueId Interpreter::yielded(Node node) {
  if (yields_ == kUnknown) yields_ = e_.add({.kind = Kind::list, .depth = frame_.depth});
  const std::vector<Node> values = node.children();
  if (values.empty()) return kUnknown;
  const ValueId value = evaluate(values.front());
  if (node.text().starts_with("yield from")) {
    fill_all(yields_, value, values.front());
  } else {
    fill(yields_, value, "", values.front());
  }
  return kUnknown;
}

ValueId Interpreter::operation(Node node) {
  const ValueId left = evaluate(node.field("left")), right = evaluate(node.field("right"));
  const Node sign = node.field("operator");
  const std::string_view op = sign ? sign.text() : std::string_view{};
  if (e_.at(left).kind == Kind::text) {
    if (op == "%") return e_.add({.kind = Kind::text, .name = with_holes(e_.at(left).name, true)});
    const bool text = e_.at(right).kind == Kind::text;
    if (op == "+") return e_.add({.kind = Kind::text, .name = e_.at(left).name + (text ? e_.at(right).name : "*")});
  }
  const auto is_list = [&](ValueId value) { return e_.at(value).kind == Kind::list; };
  if (op == "+" && (is_list(left) || is_list(right))) {
    const ValueId list = e_.add({.kind = Kind::list, .depth = e_.depth()});
    fill_all(list, left, node);
    fill_all(list, right, node);
    return list;
  }
  if (op == "*" && (is_list(left) || is_list(right))) {
    const ValueId list = e_.add({.kind = Kind::list, .depth = e_.depth()});
    e_.loops_.push_back({.id = e_.next_loop_++});
    fill_all(list, is_list(left) ? left : right, node);
    e_.loops_.pop_back();
    return list;
  }
  return op == "*" || op == "-" || op == "/" || op == "//" || op == "%" || op == "**" ? e_.add({.kind = Kind::constant}) : kUnknown;
}

std::string Interpreter::text_value(Node node) {
  const Value& value = e_.at(evaluate(node));
  return value.kind == Kind::text ? value.name : "*";
}

}  // namespace hotlens::guess
