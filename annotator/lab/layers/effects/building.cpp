#include "annotator/lab/layers/effects/building.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "annotator/lab/layers/effects/reach.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

constexpr int kDeepestBases = 10;
constexpr std::array<std::string_view, 4> kAdding{"append", "extend", "add_module", "insert"};

std::string called(Node call) {
  const Node function = call.field("function");
  return std::string((function.is("attribute") ? function.field("attribute") : function).text());
}

// `nn.Linear(…)`, also where it does not run.
bool is_torch_layer(Node call) {
  const std::string_view callee = call.field("function").text(), name = callee.substr(callee.rfind('.') + 1);
  return (callee.starts_with("nn.") || callee.starts_with("torch.nn.")) && !name.empty() && name[0] >= 'A' && name[0] <= 'Z' &&
         name != "Parameter";
}

}  // namespace

bool is_init(Node function) {
  return function.field("name").text() == "__init__";
}

bool is_part(Node node) {
  constexpr std::array<std::string_view, 25> kParts{"binary_operator",
                                                    "unary_operator",
                                                    "not_operator",
                                                    "boolean_operator",
                                                    "comparison_operator",
                                                    "tuple",
                                                    "list",
                                                    "expression_list",
                                                    "parenthesized_expression",
                                                    "conditional_expression",
                                                    "list_splat",
                                                    "slice",
                                                    "pair",
                                                    "dictionary",
                                                    "set",
                                                    "interpolation",
                                                    "string",
                                                    "concatenated_string",
                                                    "keyword_argument",
                                                    "argument_list",
                                                    "list_comprehension",
                                                    "generator_expression",
                                                    "dictionary_comprehension",
                                                    "if_clause",
                                                    "dictionary_splat"};
  return is_among(kParts, node.kind());
}

bool is_computed(Node call) {
  constexpr std::array<std::string_view, 25> kComputed{
      "isinstance", "int",      "float",     "str",       "bool",       "len",           "max",     "min",    "sum",
      "abs",        "round",    "range",     "list",      "tuple",      "dict",          "zip",     "sorted", "set",
      "enumerate",  "reversed", "math.sqrt", "math.ceil", "math.floor", "np.fromstring", "np.array"};
  const Node function = call.field("function");
  const bool of_text = function.is("attribute") && function.field("object").is("string");  // `"conv{}".format(i)`
  return of_text || is_among(kComputed, function.text());
}

bool is_plain_code(Node node) {
  if (node.is("call")) {
    return is_computed(node) && std::ranges::all_of(node.field("arguments").children(), is_plain_code);
  }
  constexpr std::array<std::string_view, 11> kWords{"identifier",      "integer",    "float",          "true",
                                                    "false",           "none",       "string_content", "string_start",
                                                    "escape_sequence", "string_end", "type_conversion"};
  if (is_among(kWords, node.kind())) return true;
  const bool part = is_part(node) || node.is("attribute") || node.is("subscript") || node.is("for_in_clause") ||
                    node.is("format_specifier") || node.is("pattern_list") || node.is("tuple_pattern");
  return part && std::ranges::all_of(node.children(), is_plain_code);
}

Building::Building(const Followed& executed, const Followed& edited) : executed_(executed), edited_(edited) {
  for (const auto& [path, code] : edited.sources.files) {
    const bool package = edited.sources.packages.contains(path);
    source::walk(code->root(), [&](Node node) {
      const bool function = node.is("function_definition");
      if (function || node.is("class_definition")) definitions_[std::string(node.field("name").text())].push_back(node);
      return !(package && function) && !(package && node.is("expression_statement"));
    });
  }
  for (const auto& [path, code] : executed.sources.files) {
    if (executed.sources.packages.contains(path)) continue;
    source::walk(code->root(), [&](Node node) {
      if (node.is("function_definition")) executed_functions_[source::qualified_name(node)].push_back(node);
      return true;
    });
  }
}

bool Building::is_the_same(const std::string& attribute) const {
  std::set<std::string> values;
  bool plain = true;
  for (const auto* text : {&executed_, &edited_}) {
    for (const Ref& module : text->interpreter.modules()) {
      const Ref held = attribute_of(*module, attribute);
      if (!held) continue;
      plain = plain && is_plain(*held);
      values.insert(written(*held));
    }
  }
  return plain && values.size() == 1;
}

bool Building::makes_alone(Node function) const {
  if (!edited_.interpreter.makes(function.id())) return false;
  const auto found = executed_functions_.find(source::qualified_name(function));
  if (found == executed_functions_.end()) return false;
  return std::ranges::all_of(found->second, [&](const Node& one) { return is_outside_step(executed_.sources, one); });
}

bool Building::built(Node call) const {
  return executed_.interpreter.built(call.id()) || edited_.interpreter.built(call.id());
}

bool Building::is_building(Node node) const {
  if (is_plain_code(node)) return true;
  constexpr int kDeepest = 200;
  const struct Deeper {
    int& depth;
    explicit Deeper(int& at) : depth(++at) {}
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --depth; }
  } deeper(depth_);
  if (depth_ > kDeepest) return false;
  if (node.is("call")) {
    const auto all = definitions(node);
    const bool computes = !all.empty() && std::ranges::all_of(all, [&](const Node& one) {
      return one.is("function_definition") && edited_.interpreter.ran(one.id());
    });
    if (!is_computed(node) && !built(node) && !computes && !is_torch_layer(node)) return false;
    for (const Node& definition : all) {
      // A package's function that gives a model may load weights, and check what it is given; it does nothing to the step.
      if (edited_.sources.packages.contains(definition.code->path())) continue;
      if (definition.is("function_definition") && !builds_only(definition.field("body"))) return false;
    }
    return std::ranges::all_of(node.field("arguments").children(), [&](const Node& one) { return is_building(one); });
  }
  const bool part = is_part(node) || node.is("for_in_clause") || node.is("pattern_list") || node.is("tuple_pattern");
  return part && std::ranges::all_of(node.children(), [&](const Node& one) { return is_building(one); });
}

bool Building::is_building_statement(Node statement) const {
  if (is_remark(statement) || statement.is("raise_statement")) return true;
  if (statement.is("return_statement") || statement.is("assert_statement"))
    return std::ranges::all_of(statement.children(), [&](const Node& one) { return is_building(one); });
  if (statement.is("if_statement") || statement.is("elif_clause") || statement.is("else_clause") || statement.is("for_statement")) {
    for (const Node& part : statement.children()) {
      const bool fits = part.is("block")                                   ? builds_only(part)
                        : part.is("elif_clause") || part.is("else_clause") ? is_building_statement(part)
                                                                           : is_building(part);
      if (!fits) return false;
    }
    return true;
  }
  const auto parts = statement.children();
  if (!statement.is("expression_statement") || parts.size() != 1) return false;
  if (parts[0].is("call")) {
    const Node function = parts[0].field("function");
    const bool adds = function.is("attribute") && is_among(kAdding, function.field("attribute").text());
    return adds && std::ranges::all_of(parts[0].field("arguments").children(), [&](const Node& one) { return is_building(one); });
  }
  if (!parts[0].is("assignment") && !parts[0].is("augmented_assignment")) return false;
  // `x`, `self.x`: anything further away may be a tensor's or the library's.
  constexpr std::array<std::string_view, 5> kOfTensors{"requires_grad", "training", "data", "grad", "dtype"};
  bool near = true;
  source::walk(parts[0].field("left"), [&](Node node) {
    if (!node.is("attribute")) return true;
    near = near && node.field("object").is("identifier") && !is_among(kOfTensors, node.field("attribute").text());
    const std::string root(node.field("object").text());
    const auto globals = edited_.interpreter.globals();
    const auto scope = globals.find(node.code->path());
    const bool imported =
        scope != globals.end() && scope->second->names.contains(root) && scope->second->names.at(root)->kind == Value::Kind::external;
    near = near && !imported;
    return false;
  });
  const Node right = parts[0].field("right");
  return near && (!right || is_building(right));
}

bool Building::builds_only(Node block) const {
  return std::ranges::all_of(block.children(), [&](const Node& one) { return is_building_statement(one); });
}

std::vector<Node> Building::definitions(Node call) const {
  const Node function = call.field("function");
  // super().__init__(…): of what the class around it derives from.
  if (function.is("attribute") && function.field("object").is("call") && function.field("object").field("function").text() == "super") {
    std::vector<Node> all;
    const Node bases = source::enclosing(call, "class_definition").field("superclasses");
    for (const Node& base : bases ? bases.children() : std::vector<Node>()) {
      const auto found = definitions_.find(base.text());
      if (found != definitions_.end()) all.insert(all.end(), found->second.begin(), found->second.end());
    }
    return all;
  }
  const auto found = definitions_.find(called(call));
  return found == definitions_.end() ? std::vector<Node>() : found->second;
}

// The `__init__` of a class, or of what it derives from.
std::vector<Node> Building::constructors(Node type, int depth) const {
  for (const Node& statement : type.field("body").children()) {
    const Node own = statement.is("decorated_definition") ? statement.field("definition") : statement;
    if (own.is("function_definition") && is_init(own)) return {own};
  }
  std::vector<Node> all;
  const Node bases = type.field("superclasses");
  for (const Node& base : bases&& depth < kDeepestBases ? bases.children() : std::vector<Node>()) {
    const auto found = definitions_.find(base.text());
    for (const Node& one : found == definitions_.end() ? std::vector<Node>() : found->second) {
      const auto more = one.is("class_definition") ? constructors(one, depth + 1) : std::vector<Node>();
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  return all;
}

bool Building::is_own(Node call) const {
  return !definitions(call).empty() && edited_.interpreter.visited(source::statement_of(call).id());
}

}  // namespace hotlens::layers
