#include "annotator/lab/layers/effects/uses.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/effects/reach.h"
#include "annotator/lab/layers/match/loops.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

Node function_around(Node node) {
  Node up = node.parent();
  while (up && !up.is("function_definition") && !up.is("lambda")) up = up.parent();
  return up;
}

// The nearest function or class.
Node definition_around(Node node) {
  Node up = node.parent();
  while (up && !up.is("function_definition") && !up.is("lambda") && !up.is("class_definition")) up = up.parent();
  return up;
}

bool is_field_of(Node child, Node above, std::string_view field) {
  const Node held = above.field(field);
  return held && held.id() == child.id();
}

// "width" of `width`, `width=1`, `width: int`, `*width`.
std::string parameter_name(Node parameter) {
  const Node named = parameter.field("name");
  if (named) return std::string(named.text());
  if (parameter.is("identifier")) return std::string(parameter.text());
  return parameter.children().empty() ? std::string() : parameter_name(parameter.children().front());
}

bool binds(Node function, std::string_view name) {
  const Node parameters = function.field("parameters");
  for (const Node& one : parameters ? parameters.children() : std::vector<Node>()) {
    if (parameter_name(one) == name) return true;
  }
  bool found = false;
  const auto seek = [&](Node node) {
    const bool assigns = node.is("assignment") || node.is("for_statement") || node.is("for_in_clause") || node.is("augmented_assignment");
    if (assigns)
      source::walk(node.field("left"), [&](Node one) {
        found = found || (one.is("identifier") && one.text() == name);
        return !one.is("attribute") && !one.is("subscript");
      });
    return !found;
  };
  source::walk(function.field("body"), seek);
  return found;
}

bool has_decorator(Node definition, std::string_view name) {
  const Node above = definition.parent();
  if (!above.is("decorated_definition")) return false;
  const std::string_view text = above.text();
  return text.substr(0, text.find(definition.text())).find(name) != std::string_view::npos;
}

}  // namespace

Uses::Uses(const Followed& edited, const Idle& idle, const Building& building) : edited_(edited), idle_(idle), building_(building) {
  for (const auto& [path, code] : edited.sources.files) {
    source::walk(code->root(), [&](Node node) {
      if (node.is("identifier")) index_[std::string(node.text())].push_back(node);
      return !idle.now.contains(node.id());
    });
  }
}

void Uses::add(Node scope, const std::string& name, bool attribute) {
  if (!name.empty() && seen_.emplace(scope ? scope.id() : nullptr, name, attribute).second) open_.push_back({scope, name, attribute});
}

Node Uses::scope_of(Node node, const std::string& name) const {
  for (Node around = definition_around(node); around; around = definition_around(around)) {
    if (around.is("class_definition") || !binds(around, name)) continue;
    const bool global = around.text().find("global " + name) != std::string_view::npos;
    if (!global) return around;
  }
  return node.code->root();
}

void Uses::target(Node node) {
  if (node.is("attribute") && node.field("attribute").text() == "data" && is_inside_maker(node)) return;  // values: sizes are compared
  if (node.is("attribute")) {
    const std::string name(node.field("attribute").text());
    const bool own = is_inside_maker(node) && node.field("object").text() == "self";
    if (!own || !building_.is_the_same(name)) add({}, name, true);
    return;
  }
  if (node.is("identifier")) {
    const std::string name(node.text());
    const Node around = definition_around(node);
    if (around.is("class_definition")) {
      add({}, name, true);
      return add(around, name);
    }
    return add(scope_of(node, name), name);
  }
  if (node.is("subscript")) return target(node.field("value"));
  for (const Node& one : node.children()) target(one);
}

void Uses::targets(Node left, Node right) {
  const bool several = left.is("pattern_list") || left.is("tuple_pattern");
  const auto names = left.children(), values = right ? right.children() : std::vector<Node>();
  const bool pairs = several && right && (right.is("expression_list") || right.is("tuple")) && names.size() == values.size();
  if (!pairs) return target(left);
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (!building_.is_building(values[at]) || is_plain_code(values[at])) targets(names[at], values[at]);
  }
}

void Uses::parameter(Node function, Node parameter) {
  defaults_.emplace(function.id(), parameter_name(parameter));
  add(function, parameter_name(parameter));
}

void Uses::note_flags(Node edited) {
  bool flag = false;
  source::walk(edited, [&](Node node) {
    flag = flag || node.is("true") || node.is("false") || node.is("none") || node.is("string");
    return !flag;
  });
  const Node given = edited.is("keyword_argument") ? edited : edited.parent();
  if (flag && given.is("keyword_argument")) flags_.insert(std::string(given.field("name").text()));
}

// A dataclass: what it is given are its fields.
void Uses::give_field(Node type, std::size_t place, const std::string& keyword) {
  if (!keyword.empty() && edited_.sources.packages.contains(type.code->path())) fields_.insert(keyword);
  if (!keyword.empty()) return add({}, keyword, true);
  for (const Node& statement : type.field("body").children()) {
    const auto parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
    if (parts.empty() || !parts[0].is("assignment") || !parts[0].field("type")) continue;
    if (place-- == 0) return add({}, std::string(parts[0].field("left").text()), true);
  }
}

// What `**rest` gets.
void Uses::give_rest(Node function, const std::string& rest, const std::string& keyword) {
  if (!keyword.empty()) return add({}, keyword, true);
  unnamed_.insert(function.id());
  if (keeping_.contains(function.id())) lost_ = unknown(function, rest);
}

// Whether it is known which parameter gets it.
bool Uses::give(Node definition, Node call, Node argument) {
  const std::string keyword(argument.is("keyword_argument") ? argument.field("name").text() : std::string_view());
  std::size_t place = 0;
  bool known = true;
  for (const Node& one : call.field("arguments").children()) {
    if (one.id() == argument.id()) break;
    known = known && !one.is("list_splat");
    place += one.is("keyword_argument") || one.is("dictionary_splat") ? 0 : 1;
  }
  known = known && !argument.is("list_splat") && !argument.is("dictionary_splat");
  std::vector<Node> functions{definition};
  if (definition.is("class_definition")) functions = building_.constructors(definition);
  if (functions.empty()) give_field(definition, place, keyword);
  for (const Node& function : functions) {
    std::vector<Node> parameters = function.field("parameters").children();
    const bool method = source::enclosing(function, "class_definition") && !has_decorator(function, "staticmethod") && !parameters.empty();
    if (method) parameters.erase(parameters.begin());
    bool found = false;
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      const std::string name = parameter_name(parameters[at]);
      const bool rest = parameters[at].is("list_splat_pattern") || parameters[at].is("dictionary_splat_pattern");
      const bool it = !known || (keyword.empty() ? at == place : name == keyword) || (rest && !found);
      if (it) add(function, name);
      if (it && parameters[at].is("dictionary_splat_pattern")) give_rest(function, name, keyword);
      found = found || it;
    }
  }
  return known;
}

void Uses::argument(Node call, Node argument) {
  for (const Node& definition : building_.definitions(call)) give(definition, call, argument);
}

std::vector<Node> Uses::all_of(const Open& open) const {
  const auto found = index_.find(open.name);
  std::vector<Node> all;
  for (const Node& one : found == index_.end() ? std::vector<Node>() : found->second) {
    const Node above = one.parent();
    const bool attribute = above.is("attribute") && is_field_of(one, above, "attribute");
    const bool keyword = above.is("keyword_argument") && is_field_of(one, above, "name");
    if (keyword) continue;
    const bool elsewhere = open.scope && open.scope.is("module") && one.code != open.scope.code;
    if (open.attribute || (attribute && elsewhere)) {
      // `x.size(0)` of a tensor is no use of `self.size`.
      const Node call = above.parent();
      const bool method =
          call && call.is("call") && is_field_of(above, call, "function") && !above.field("object").text().starts_with("self");
      if (attribute && !method) all.push_back(above);
      continue;
    }
    if (attribute) continue;
    const bool local = !open.scope.is("module");
    const bool here = local ? is_within(one, open.scope) : elsewhere || scope_of(one, open.name).id() == open.scope.id();
    const bool imported =
        !elsewhere || open.scope.code->path().stem().string().empty() || one.code->text().find("import") != std::string::npos;
    if (here && imported && (!elsewhere || scope_of(one, open.name).is("module"))) all.push_back(one);
  }
  return all;
}

Uses::Why Uses::run() {
  while (!open_.empty()) {
    const Open open = open_.front();
    open_.pop_front();
    const auto uses = all_of(open);
    // A package may read it in a file that is not here, or by its name alone.
    if (flags_.contains(open.name) && uses.empty() && open.attribute && fields_.contains(open.name))
      return Unclear{.reason = "what `" + open.name + "` changes is not known: nothing that was followed reads it"};
    for (const Node& node : uses) {
      if (auto why = occurrence(node, open)) return why;
    }
  }
  return lost_;
}

bool Uses::followed(Node node) const {
  const Node function = function_around(node);
  if (function && !edited_.interpreter.ran(function.id())) return false;
  Node statement = source::statement_of(node);
  while (statement.is("decorated_definition")) statement = source::statement_of(statement.parent());
  const bool header = statement.is("function_definition") || statement.is("class_definition");
  return header || edited_.interpreter.visited(statement.id());
}

// `if width % heads != 0: raise …`, where it does not.
bool Uses::only_raises(Node choice) const {
  const Node body = choice.field("consequence");
  const auto statements = body.children();
  return choice.is("if_statement") && choice.children("else_clause").empty() && choice.children("elif_clause").empty() &&
         edited_.interpreter.passed(body.id()) && statements.size() == 1 && statements[0].is("raise_statement");
}

// `if isinstance(act, str): self.act = ACTIVATIONS[act]` and its like, which was told apart: what it sets is compared.
bool Uses::only_keeps(Node choice) const {
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

// In a constructor of a layer, or in what constructors alone call: what it makes is compared.
bool Uses::is_inside_maker(Node node) const {
  const Node function = function_around(node);
  return function && (is_init(function) || building_.makes_alone(function));
}

Uses::Why Uses::occurrence(Node node, const Open& open) {
  if (is_inside(node, idle_.now)) return std::nullopt;
  const Node above = node.parent();
  constexpr std::array<std::string_view, 10> kBinding{"parameters",         "typed_parameter",         "dotted_name",   "global_statement",
                                                      "pattern_list",       "aliased_import",          "tuple_pattern", "list_pattern",
                                                      "list_splat_pattern", "dictionary_splat_pattern"};
  const bool given = (above.is("assignment") || above.is("for_statement") || above.is("for_in_clause")) && is_field_of(node, above, "left");
  const bool parameter = (above.is("default_parameter") || above.is("typed_default_parameter")) && is_field_of(node, above, "name");
  const bool defined = (above.is("function_definition") || above.is("class_definition")) && is_field_of(node, above, "name");
  if (is_among(kBinding, above.kind()) || given || parameter || defined) return std::nullopt;
  const Node statement = source::statement_of(node);
  if (is_remark(statement) || statement.is("assert_statement") || statement.is("raise_statement")) return std::nullopt;
  for (Node up = above; up && up.id() != statement.id(); up = up.parent()) {
    if (up.is("type")) return std::nullopt;
  }
  // What a package's constructors do with it shows in what they make; where they keep it, it is followed further.
  const bool shows = is_in_package_maker(node) && !flags_.contains(open.name);
  if (followed(node)) {
    auto why = value(node, open.name);
    return shows ? std::nullopt : why;
  }
  return shows || never_runs(node) ? std::nullopt : elsewhere(node, open.name);
}

// In a package's function that ran for a module.
bool Uses::is_in_package_maker(Node node) const {
  const Node function = function_around(node);
  return edited_.sources.packages.contains(node.code->path()) && function && edited_.interpreter.makes(function.id());
}

// In a branch that every call of its function passed by.
bool Uses::never_runs(Node node) const {
  bool passed = false;
  for (Node up = node.parent(); up && !up.is("function_definition"); up = up.parent()) {
    if (edited_.interpreter.forgotten(up.id())) return false;
    passed = passed || edited_.interpreter.passed(up.id());
  }
  const Node function = function_around(node);
  return passed && function && edited_.interpreter.ran(function.id());
}

// A loop of a layer's method, or a branch, that fills a list, now with nothing: `for _ in range(1, blocks): layers.append(block(width))`.
bool Uses::fills_nothing(Node loop) const {
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

// `self.dropout(x)` of another class, where it is a layer: a number is not called, and layers are compared.
bool Uses::calls_layer(Node use) const {
  const Node call = use.parent();
  if (!use.is("attribute") || !call.is("call") || !is_field_of(use, call, "function")) return false;
  const std::string_view name = use.field("attribute").text();
  const auto& modules = edited_.interpreter.modules();
  return std::ranges::all_of(modules, [&](const Ref& module) {
    return std::ranges::all_of(module->attributes,
                               [&](const auto& one) { return one.first != name || is_module(one.second) || is_plain(*one.second); });
  });
}

// `self.depth` in a method of a package's layer: what its modules hold is compared, one by one.
bool Uses::is_compared(Node use) const {
  Node chain = use;
  while (chain.field("object").is("attribute")) chain = chain.field("object");
  return edited_.sources.packages.contains(use.code->path()) && chain.field("object").text() == "self" && is_in_class_of_module(use);
}

bool Uses::is_in_class_of_module(Node use) const {
  const Node type = source::enclosing(use, "class_definition");
  return type && std::ranges::any_of(edited_.interpreter.modules(), [&](const Ref& module) {
           return module->self->kind == Value::Kind::type &&
                  std::ranges::any_of(edited_.interpreter.order(module->self), [&](const Ref& one) { return one->node.id() == type.id(); });
         });
}

// A plain value of each module whose class this is, or an unknown one: what it was and is now is compared, module by module, with what is
// done with it.
bool Uses::is_held_by_modules(Node use) const {
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

// `for layer in self.layers[: self.config.depth]`: where it is as many as there are, alignment and comparison of the number say.
bool Uses::bounds_list(Node use) const {
  Node chain = use;
  while (chain.parent().is("attribute")) chain = chain.parent();
  return chain.text().starts_with("self.") && is_bound_of_list(chain);
}

// In code that is not followed: as a size alone; what modules hold is looked at once more when its kind is known.
Uses::Why Uses::elsewhere(Node use, const std::string& name) {
  if (bounds_random(use)) {
    draws_ = true;
    return std::nullopt;
  }
  const auto compared = [](Node one) {  // of what modules hold both values are known later
    return one.parent().is("comparison_operator") ||
           (one.parent().is("binary_operator") && one.parent().parent().is("comparison_operator"));
  };
  const bool held = use.is("attribute") && use.field("object").text() == "self" && is_in_class_of_module(use) &&
                    (compared(use) || is_held_by_modules(use));
  const bool known = is_size(use) || held || (use.is("attribute") && is_size_in_function(use, compared)) || calls_layer(use) ||
                     bounds_list(use) || is_compared(use) || was_passed_by(edited_.sources, use) ||
                     (use.is("attribute") && is_rate_or_factor(use));
  return function_around(use) && known ? std::nullopt : Why(unknown(use, name));
}

Uses::Why Uses::unknown(Node use, const std::string& name) {
  if (name.empty())
    return Unclear{.reason = "something else than layers was edited: " + excerpt(source::statement_of(use)), .at = line_of(use)};
  const std::string where = source::qualified_name(use);
  return Unclear{
      .reason = (where == "<module>" ? "the script" : where) + " uses " + name + ", which was edited; what it does with it is not followed",
      .at = line_of(use)};
}

// `self.add_module("norm%d" % i, norm)`, `setattr(self, name, layer)`: layers are compared by their names.
bool Uses::names_layer(Node call, Node given) const {
  const Node function = call.field("function");
  const auto all = call.field("arguments").children();
  if (function.text() == "setattr") return all.size() == 3 && all[1].id() == given.id() && building_.is_building(all[2]);
  const std::string_view last = function.is("attribute") ? function.field("attribute").text() : std::string_view();
  return (last == "add_module" || last == "register_module") && all.size() == 2 && all[0].id() == given.id();
}

// `self.__dict__.update(kwargs)`: what was given by name is an attribute of that name, and is followed as one.
Uses::Why Uses::keeps_rest(Node call, Node given, const std::string& name) {
  const Node function = function_around(call);
  const bool rest = given.is("identifier") && given.text() == name && !unnamed_.contains(function.id());
  if (!rest) return unknown(call, name);
  keeping_.insert(function.id());
  return std::nullopt;
}

// What a call with the value does: nullopt where whoever has the result has the value.
std::optional<Uses::Why> Uses::in_call(Node call, Node given, const std::string& name) {
  const Node function = call.field("function");
  const std::string_view text = function.text();
  const auto all = building_.definitions(call);
  if (is_told(text)) return Why{};
  if (text == "super().__init__" && all.empty() && is_inside_maker(call)) return Why{};  // of a layer of torch.nn
  if (building_.built(call) ||
      (!all.empty() && (text.ends_with("__init__") || edited_.interpreter.visited(source::statement_of(call).id())))) {
    for (const Node& definition : all) give(definition, call, given);
    const bool whole = std::ranges::any_of(all, [](const Node& one) { return one.is("function_definition") && !is_init(one); });
    if (building_.built(call) || all.empty() || !whole) return Why{};
    return std::nullopt;  // the function's own `return` says whether its result has it, but it may be kept by what it is given
  }
  if (is_computed(call)) return std::nullopt;
  const std::string_view last = function.is("attribute") ? function.field("attribute").text() : text;
  if (last == "add_argument" && given.is("keyword_argument") && given.field("name").text() == "default") {
    for (const Node& flag : call.field("arguments").children()) {
      if (!flag.is("string")) continue;
      std::string word(flag.text().substr(1, flag.text().size() - 2));
      word.erase(0, word.find_first_not_of('-'));
      std::ranges::replace(word, '-', '_');
      add({}, word, true);
    }
    return Why{};
  }
  if (is_bound_of_random(call, given)) {
    draws_ = true;
    return Why{};
  }
  if (given.is("keyword_argument") && given.field("name").text() == "lr" && text.find("optim") != std::string_view::npos) return Why{};
  if (text.find("init.") != std::string_view::npos && last.ends_with("_")) return Why{};  // nn.init.normal_
  if (last == "update" && text.ends_with("__dict__.update")) return keeps_rest(call, given, name);
  if (!is_inside_maker(call)) return unknown(call, name);
  if (names_layer(call, given)) return Why{};
  const bool of_weight = text.ends_with("weight.data." + std::string(last)) || text.ends_with("weight." + std::string(last));
  if (of_weight && last.ends_with("_")) return Why{};  // `self.embed.weight.data.uniform_(-1 / words, 1 / words)`
  if (last == "register_buffer" || last == "register_parameter" || last == "Parameter") return Why{};
  if (text.starts_with("torch.") || text.starts_with("np.") || text.starts_with("numpy.")) return std::nullopt;
  return unknown(call, name);
}

// `Linear(…) if width > 8 else Identity()` in a constructor: what it chooses is compared.
bool Uses::chooses_layers(Node choice, Node condition) const {
  const auto parts = choice.children();
  return parts.size() == 3 && parts[1].id() == condition.id() && is_inside_maker(choice) && building_.is_building(parts[0]) &&
         building_.is_building(parts[2]);
}

// A number of the script's own as a size of what its loop makes: `torch.randn(8, noise, 1, 1)`.
bool Uses::is_size_in_loop(Node use) const {
  const Node statement = source::statement_of(use);
  const bool script = use.code->path() == edited_.sources.script && !function_around(use) && use.is("identifier");
  return script && (source::enclosing(statement, "for_statement") || source::enclosing(statement, "while_statement")) && is_size(use);
}

Uses::Why Uses::value(Node node, const std::string& name) {
  const Node function = function_around(node);
  const bool method = node.is("attribute") && function && !is_inside_maker(node) && !edited_.interpreter.makes(function.id());
  if (is_size_in_loop(node) || (method && is_size(node))) return std::nullopt;
  Node child = node;
  for (Node up = node.parent(); up; child = up, up = up.parent()) {
    const std::string_view kind = up.kind();
    if (kind == "conditional_expression" && chooses_layers(up, child)) return std::nullopt;
    if (is_part(up) || (kind == "subscript") || (kind == "attribute")) continue;
    if (kind == "call") {
      if (is_field_of(child, up, "function")) {
        if (building_.built(up)) return std::nullopt;  // a kind of layer
        if (is_of_tensor(child) && is_inside_maker(up)) continue;
        if (changes_list(child) && is_inside_maker(up)) return std::nullopt;
        return unknown(up, name);
      }
      Node given = node;
      while (given.parent() && given.parent().id() != child.id()) given = given.parent();
      if (node.id() == child.id()) given = node;
      if (const auto done = in_call(up, given, name)) return *done;
      continue;
    }
    if (kind == "assignment" || kind == "augmented_assignment" || kind == "named_expression") {
      if (is_field_of(child, up, "left")) return std::nullopt;
      const Node left = up.field("left") ? up.field("left") : up.field("name");
      // Of `a, b = 1, 2` the one at its place.
      const auto names = left.children(), values = child.children();
      const bool several = (left.is("pattern_list") || left.is("tuple_pattern")) && names.size() == values.size() &&
                           (child.is("expression_list") || child.is("tuple"));
      for (std::size_t at = 0; several && at < values.size(); ++at) {
        if (is_within(node, values[at])) target(names[at]);
      }
      if (!several) target(left);
      if (kind == "named_expression") continue;
      return std::nullopt;
    }
    if (kind == "default_parameter" || kind == "typed_default_parameter") {
      parameter(function_around(up), up);
      return std::nullopt;
    }
    if (kind == "for_in_clause") {
      if (is_field_of(child, up, "left")) return std::nullopt;
      target(up.field("left"));
      continue;
    }
    if (kind == "for_statement" || kind == "if_statement" || kind == "elif_clause") {
      if (kind == "for_statement") target(up.field("left"));
      const Node whole = kind == "elif_clause" ? up.parent() : up;
      const bool makes = whole.is("for_statement") && is_inside_maker(whole) && !edited_.interpreter.forgotten(whole.id());
      return makes || building_.is_building_statement(whole) || fills_nothing(whole) || only_raises(whole) || only_keeps(whole)
                 ? std::nullopt
                 : unknown(node, name);
    }
    if (kind == "return_statement") return result(function_around(up), name);
    if (kind == "expression_statement" || kind == "assert_statement" || kind == "raise_statement" || kind == "type") return std::nullopt;
    return unknown(node, name);
  }
  return std::nullopt;
}

// Calls of a function whose result has it.
Uses::Why Uses::result(Node function, const std::string& name) {
  if (!function || !function.is("function_definition")) return unknown(function, name);
  const std::string own(function.field("name").text());
  if (!seen_.emplace(function.id(), "return " + own, false).second) return std::nullopt;
  if (has_decorator(function, "property")) {
    add({}, own, true);
    return std::nullopt;
  }
  const Node parameters = function.field("parameters");
  const auto is_it = [&](const Node& one) { return parameter_name(one) == name; };
  const bool by_parameter = parameters && std::ranges::any_of(parameters.children(), is_it) && !defaults_.contains({function.id(), name});
  const auto found = index_.find(own);
  for (const Node& one : found == index_.end() ? std::vector<Node>() : found->second) {
    const Node callee = one.parent().is("attribute") ? one.parent() : one, call = callee.parent();
    if (!call.is("call") || !is_field_of(callee, call, "function") || building_.built(call)) continue;
    const Open open{.scope = {}, .name = own};
    if (by_parameter && !followed(call)) continue;  // it is given something else there, which is followed by itself
    if (auto why = followed(call) ? value(call, name.empty() ? own : name) : elsewhere(call, open.name)) return why;
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
