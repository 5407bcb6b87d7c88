#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // no layer has a larger number
constexpr std::size_t kLongestWords = 600;
constexpr int kMostNesting = 2'000;

// Plain, or a list of such.
bool is_known(const Value& value) {
  const bool several = value.kind == Kind::list || value.kind == Kind::tuple;
  return is_plain(value) || (several && std::ranges::all_of(value.items, [](const Ref& one) { return is_known(*one); }));
}

// "block%d" % 3, "%s_%d" % (name, 3).
std::optional<std::string> filled(std::string text, const Value& with) {
  const std::vector<Ref> items = with.kind == Kind::tuple ? with.items : std::vector<Ref>();
  std::size_t next = 0;
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at)) {
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    const Value* one = with.kind != Kind::tuple ? (next == 0 ? &with : nullptr) : next < items.size() ? items[next] : nullptr;
    ++next;
    const bool fits = one != nullptr && (one->kind == Kind::integer || (kind == 's' && one->kind == Kind::text));
    if ((kind != 'd' && kind != 's') || !fits) return std::nullopt;
    const std::string shown = one->kind == Kind::text ? one->text : written(*one);
    text.replace(at, 2, shown);
    at += shown.size();
  }
  return text;
}

bool is_number(const Ref& value) {
  return value->kind == Kind::integer || value->kind == Kind::boolean || value->kind == Kind::real;
}

double as_real(const Ref& value) {
  return value->kind == Kind::real ? value->real : static_cast<double>(value->integer);
}

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::optional<double> computed(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return std::pow(a, b);
  if (b == 0) return std::nullopt;
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  if (op == "%") return a - b * std::floor(a / b);
  return std::nullopt;
}

// Exact where it fits; nullopt for what is no whole number.
std::optional<std::int64_t> computed(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  const auto rough = computed(op == "//" ? "/" : op, static_cast<double>(a), static_cast<double>(b));
  if (!rough || std::abs(*rough) > static_cast<double>(kLargest) || op == "/") return std::nullopt;
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "//") return floor_divided(a, b);
  if (op == "%") return a - b * floor_divided(a, b);
  if (op == "**" && b >= 0) return static_cast<std::int64_t>(std::llround(*rough));
  return std::nullopt;
}

}  // namespace

// Long words are shortened by what they amount to, so that nested unknowns stay small.
Ref Interpreter::unknown(std::string words) {
  if (words.size() > kLongestWords) words = words.substr(0, 80) + "…#" + std::to_string(std::hash<std::string>{}(words));
  if (const auto found = known_.find(words); found != known_.end()) return found->second;
  return make({.kind = Kind::unknown, .text = std::move(words)});
}

Ref Interpreter::name(std::string_view name, Frame& frame) {
  for (auto scope = frame.scope; scope; scope = scope->outer) {
    if (scope->is_class && scope != frame.scope) continue;
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  return make({.kind = Kind::external, .text = std::string(name)});
}

Ref Interpreter::expression(Node node, Frame& frame) {
  if (!node || !spend() || nesting_ > kMostNesting) return unknown("beyond what is followed");
  const struct Inside {
    int& nesting;
    explicit Inside(int& at) : nesting(++at) {}
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { --nesting; }
  } inside(nesting_);
  const std::string_view kind = node.kind();
  const auto each = [&](Kind made) {
    Ref all = make({.kind = made});
    for (const Node& one : node.children()) {
      if (one.is("list_splat")) {
        const Ref rest = expression(one.children().front(), frame);
        const auto items = entries(rest);
        if (!items) return unknown(std::string("[*") + written(*rest) + "]");
        all->items.insert(all->items.end(), items->begin(), items->end());
      } else {
        all->items.push_back(expression(one, frame));
      }
    }
    return all;
  };
  if (kind == "identifier") return name(node.text(), frame);
  if (kind == "integer") {
    std::string digits(node.text());
    std::erase(digits, '_');
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc{} && end == digits.data() + digits.size()) return whole(value);
    return unknown(std::move(digits));
  }
  if (kind == "float") return real(literal_number(node));
  if (kind == "true" || kind == "false") return boolean_value(kind == "true");
  if (kind == "none") return none();
  if (kind == "string" || kind == "concatenated_string") return text(node, frame);
  if (kind == "parenthesized_expression") return expression(node.children().empty() ? Node{} : node.children().front(), frame);
  if (kind == "list") return each(Kind::list);
  if (kind == "tuple" || kind == "expression_list") return each(Kind::tuple);
  if (kind == "call") return call_expression(node, frame);
  if (kind == "attribute") return attribute(expression(node.field("object"), frame), std::string(node.field("attribute").text()));
  if (kind == "subscript") return subscript(node, frame);
  if (kind == "binary_operator")
    return binary(node.field("operator").text(), expression(node.field("left"), frame), expression(node.field("right"), frame));
  if (kind == "boolean_operator") return boolean(node, frame);
  if (kind == "comparison_operator") return comparison(node, frame);
  if (kind == "unary_operator") return binary(node.field("operator").text(), whole(0), expression(node.field("argument"), frame));
  if (kind == "not_operator") {
    const Ref value = expression(node.field("argument"), frame);
    const auto holds = truth(value);
    return holds ? boolean_value(!*holds) : unknown("not " + written(*value));
  }
  if (kind == "conditional_expression") {
    const auto parts = node.children();
    const Ref condition = expression(parts[1], frame);
    if (const auto holds = truth(condition)) return expression(parts[*holds ? 0 : 2], frame);
    const Ref yes = expression(parts[0], frame), no = expression(parts[2], frame);
    return unknown(written(*yes) + " if " + written(*condition) + " else " + written(*no));
  }
  if (kind == "list_comprehension" || kind == "generator_expression" || kind == "dictionary_comprehension")
    return comprehension(node, frame);
  if (kind == "dictionary") {
    Ref all = make({.kind = Kind::mapping});
    for (const Node& pair : node.children()) {
      const Ref rest = pair.is("dictionary_splat") ? expression(pair.children().front(), frame) : nullptr;
      if (rest && rest->kind == Kind::mapping) {
        for (std::size_t at = 0; at < rest->items.size(); ++at) put(all, rest->items[at], rest->values[at]);
        continue;
      }
      if (!pair.is("pair")) return unknown("{" + std::string(node.text()) + "}");
      all->items.push_back(expression(pair.field("key"), frame));
      all->values.push_back(expression(pair.field("value"), frame));
    }
    return all;
  }
  if (kind == "lambda") {
    return make({.kind = Kind::function, .text = "lambda", .node = node, .scope = frame.scope, .owner = frame.owner});
  }
  if (kind == "named_expression") {
    const Ref value = expression(node.field("value"), frame);
    assign(node.field("name"), value, frame, node);
    return value;
  }
  return unknown(std::string(node.text()));
}

Ref Interpreter::text(Node node, Frame& frame) {
  std::string all;
  for (const Node& part : node.children()) {
    if (part.is("string")) {
      const Ref one = text(part, frame);
      if (one->kind != Kind::text) return unknown(std::string(node.text()));
      all += one->text;
    } else if (part.is("string_content")) {
      all += part.text();
    } else if (part.is("interpolation")) {
      const Ref one = expression(part.children().front(), frame);
      const bool plain = one->kind == Kind::integer || one->kind == Kind::text;
      if (!plain || part.children().size() > 1) return unknown(std::string(node.text()) + " of " + written(*one));
      all += one->kind == Kind::text ? one->text : written(*one);
      if (!spend(all.size())) return unknown(std::string(node.text()));
    }
  }
  return text_of(std::move(all));
}

Ref Interpreter::binary(std::string_view op, const Ref& left, const Ref& right) {
  if (const Ref tensor = combined(left, right)) return tensor;
  if (is_number(left) && is_number(right)) {
    if (left->kind != Kind::real && right->kind != Kind::real) {
      if (const auto value = computed(op, left->integer, right->integer)) return whole(*value);
    }
    if (const auto value = computed(op, as_real(left), as_real(right))) return real(*value);
  }
  if (left->kind == Kind::boolean && right->kind == Kind::boolean && (op == "^" || op == "&" || op == "|"))
    return boolean_value(op == "^"   ? left->integer != right->integer
                         : op == "&" ? left->integer + right->integer == 2
                                     : left->integer + right->integer > 0);
  const auto words = [&] { return unknown("(" + written(*left) + " " + std::string(op) + " " + written(*right) + ")"); };
  if (op == "+" && left->kind == right->kind && (left->kind == Kind::list || left->kind == Kind::tuple)) {
    if (!spend(left->items.size() + right->items.size())) return words();
    Ref sum = make({.kind = left->kind});
    sum->items = left->items;
    sum->items.insert(sum->items.end(), right->items.begin(), right->items.end());
    return sum;
  }
  const bool several = left->kind == Kind::list || left->kind == Kind::tuple;
  if (op == "*" && several && right->kind == Kind::integer && right->integer < 10'000) {
    if (!spend(left->items.size() * static_cast<std::size_t>(std::max<std::int64_t>(right->integer, 0)))) return words();
    Ref all = make({.kind = left->kind});
    for (std::int64_t at = 0; at < right->integer; ++at) all->items.insert(all->items.end(), left->items.begin(), left->items.end());
    return all;
  }
  if (op == "%" && left->kind == Kind::text) {
    if (const auto text = filled(left->text, *right); text && spend(text->size())) return text_of(*text);
  }
  if (op == "+" && left->kind == Kind::text && right->kind == Kind::text && spend(left->text.size() + right->text.size()))
    return text_of(left->text + right->text);
  return words();
}

Ref Interpreter::comparison(Node node, Frame& frame) {
  const auto parts = node.children();
  const std::string op(node.field("operators").text());
  if (parts.size() != 2) return unknown(std::string(node.text()));
  const Ref left = expression(parts[0], frame), right = expression(parts[1], frame);
  const auto words = [&] { return unknown("(" + written(*left) + " " + op + " " + written(*right) + ")"); };
  const bool plain =
      left->kind != Kind::unknown && right->kind != Kind::unknown && left->kind != Kind::external && right->kind != Kind::external;
  if (op == "is" || op == "is not") {
    if (left->kind == Kind::object && right->kind == Kind::object) return boolean_value((left == right) == (op == "is"));
    if (left->kind == Kind::unknown || (right->kind != Kind::none && right->kind != Kind::boolean)) return words();
    return boolean_value((written(*left) == written(*right)) == (op == "is"));
  }
  if ((op == "in" || op == "not in") && left->kind == Kind::text && right->kind == Kind::text)
    return boolean_value(right->text.contains(left->text) == (op == "in"));
  if (op == "in" || op == "not in") {
    const auto items = entries(right);
    if (!items || left->kind == Kind::unknown) return words();
    for (const Ref& one : *items) {
      if (one->kind == Kind::unknown) return words();
    }
    const bool found = std::ranges::any_of(*items, [&](const Ref& one) { return written(*one) == written(*left); });
    return boolean_value(found == (op == "in"));
  }
  if (!plain) return words();
  if (is_number(left) && is_number(right)) {
    const double a = as_real(left), b = as_real(right);
    if (op == "<") return boolean_value(a < b);
    if (op == "<=") return boolean_value(a <= b);
    if (op == ">") return boolean_value(a > b);
    if (op == ">=") return boolean_value(a >= b);
    if (op == "==") return boolean_value(a == b);
    if (op == "!=") return boolean_value(a != b);
  }
  const bool lists = (left->kind == Kind::list || left->kind == Kind::tuple) && is_known(*left) && is_known(*right);
  if (lists && (op == "==" || op == "!=")) return boolean_value((written(*left) == written(*right)) == (op == "=="));
  const bool apart = is_plain(*left) && is_plain(*right) && left->kind != right->kind && !(is_number(left) && is_number(right));
  if (apart && (op == "==" || op == "!=")) return boolean_value(op == "!=");
  const bool same_kind = left->kind == right->kind && (left->kind == Kind::text || left->kind == Kind::none);
  if (op == "==" && same_kind) return boolean_value(left->text == right->text);
  if (op == "!=" && same_kind) return boolean_value(left->text != right->text);
  return words();
}

Ref Interpreter::boolean(Node node, Frame& frame) {
  const bool all = node.field("operator").text() == "and";
  const Ref left = expression(node.field("left"), frame);
  const auto holds = truth(left);
  if (holds && *holds != all) return left;
  const Ref right = expression(node.field("right"), frame);
  if (holds) return right;
  return unknown("(" + written(*left) + (all ? " and " : " or ") + written(*right) + ")");
}

std::optional<bool> Interpreter::truth(const Ref& value) {
  switch (value->kind) {
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value->integer != 0;
    case Kind::real:
      return value->real != 0;
    case Kind::text:
      return !value->text.empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::mapping:
      return !value->items.empty();
    case Kind::object: {
      if (value->layer.empty()) return std::nullopt;
      const auto items = entries(value);  // a container has a length
      return items ? !items->empty() : value->layer != "ModuleDict";
    }
    case Kind::function:
    case Kind::type:
      return true;
    case Kind::external:
      return value->text.ends_with("TYPE_CHECKING") ? std::optional(false) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Nullopt where what comes out is not known.
std::optional<std::vector<Ref>> Interpreter::entries(const Ref& iterable) {
  if (iterable->kind == Kind::list || iterable->kind == Kind::tuple || iterable->kind == Kind::mapping) return iterable->items;
  // What is made of a mapping, as an OrderedDict.
  const bool made = iterable->kind == Kind::object && iterable->layer.empty() && iterable->given.positional.size() == 1;
  if (made && iterable->given.positional[0]->kind == Kind::mapping) return iterable->given.positional[0]->items;
  const bool container = iterable->layer == "Sequential" || iterable->layer == "ModuleList";
  if (iterable->kind != Kind::object || !container) return std::nullopt;
  std::vector<Ref> all;
  for (const auto& [name, value] : iterable->attributes) {
    if (value->kind == Kind::object && !value->layer.empty()) all.push_back(value);
  }
  return all;
}

// Of `begin:end`, within `size`; nullopt: they are not known, or it takes each second one.
std::optional<std::pair<std::int64_t, std::int64_t>> Interpreter::bounds_of(Node slice, std::int64_t size, Frame& frame) {
  const std::string_view text = slice.text();
  const auto parts = slice.children();
  if (std::ranges::count(text, ':') != 1 || parts.size() > 2) return std::nullopt;
  std::int64_t begin = 0, end = size;
  for (const Node& part : parts) {
    const Ref bound = expression(part, frame);
    if (bound->kind != Kind::integer) return std::nullopt;
    const bool first = ts_node_start_byte(part.node) - ts_node_start_byte(slice.node) <= text.find(':');
    (first ? begin : end) = std::clamp<std::int64_t>(bound->integer < 0 ? bound->integer + size : bound->integer, 0, size);
  }
  return std::pair(begin, end);
}

Ref Interpreter::subscript(Node node, Frame& frame) {
  const Ref object = expression(node.field("value"), frame);
  const Node at = node.field("subscript");
  const auto items = object->kind == Kind::mapping ? std::nullopt : entries(object);
  const auto words = [&](const std::string& key) { return unknown(written(*object) + "[" + key + "]"); };
  if (const Ref part = part_of_tensor(object, node, frame)) return part;
  if (at.is("slice")) {
    const auto bounds = items ? bounds_of(at, std::ssize(*items), frame) : std::nullopt;
    if (!bounds) return words(std::string(at.text()));
    Ref some = make({.kind = object->kind == Kind::tuple ? Kind::tuple : Kind::list});
    for (std::int64_t one = bounds->first; one < bounds->second; ++one) some->items.push_back((*items)[static_cast<std::size_t>(one)]);
    return some;
  }
  const Ref key = expression(at, frame);
  if (items && key->kind == Kind::integer) {
    const std::int64_t wanted = key->integer < 0 ? key->integer + std::ssize(*items) : key->integer;
    if (wanted >= 0 && wanted < std::ssize(*items)) return (*items)[static_cast<std::size_t>(wanted)];
    failures_.push_back({" is beyond the last one", node});
  }
  if (object->kind == Kind::object && object->self->kind == Kind::type) {
    if (const Ref hook = class_attribute(object->self, "__getitem__")) return call(bound(hook, object), {.positional = {key}}, node);
  }
  return item_of(object, key);
}

// Of a mapping, of what is made of one, or of a module dict.
Ref Interpreter::item_of(const Ref& object, const Ref& key) {
  const bool made = object->kind == Kind::object && object->layer.empty() && object->given.positional.size() == 1;
  const Ref mapping = made ? object->given.positional[0] : object;
  if (mapping->kind == Kind::mapping) {
    if (const auto at = place_of(*mapping, *key)) return mapping->values[*at];
  }
  if (object->kind == Kind::object && key->kind == Kind::text) {
    if (const Ref found = held(object, key->text)) return found;
  }
  return unknown(written(*object) + "[" + written(*key) + "]");
}

bool Interpreter::passes(const std::vector<Node>& clauses, std::size_t at, Frame& frame, const std::function<void()>& each) {
  if (at == clauses.size()) {
    each();
    return true;
  }
  if (clauses[at].is("if_clause")) {
    const auto holds = truth(expression(clauses[at].children().front(), frame));
    return holds && (!*holds || passes(clauses, at + 1, frame, each));
  }
  const auto items = entries(expression(clauses[at].field("right"), frame));
  if (!items) return false;
  for (const Ref& item : *items) {
    if (!spend()) return false;
    assign(clauses[at].field("left"), item, frame, clauses[at]);
    if (!passes(clauses, at + 1, frame, each)) return false;
  }
  return true;
}

Ref Interpreter::comprehension(Node node, Frame& frame) {
  Frame inner = frame;
  inner.scope = heap_.scope(frame.scope);
  std::vector<Node> clauses;
  for (const Node& child : node.children()) {
    if (child.is("for_in_clause") || child.is("if_clause")) clauses.push_back(child);
  }
  const Node body = node.field("body");
  Ref all = make({.kind = body.is("pair") ? Kind::mapping : Kind::list});
  const bool done = passes(clauses, 0, inner, [&] {
    all->items.push_back(expression(body.is("pair") ? body.field("key") : body, inner));
    if (body.is("pair")) all->values.push_back(expression(body.field("value"), inner));
  });
  return done ? all : unknown(std::string(node.text()));
}
}  // namespace hotlens::layers
