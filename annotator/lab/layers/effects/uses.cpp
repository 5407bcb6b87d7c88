#include "annotator/lab/layers/effects/uses.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/effects/reach.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

// `{"params": model.head.parameters(), "lr": 1e-3}` of an optimizer.
bool is_rate_of_group(Node pair) {
  const Node call = source::enclosing(pair, "call");
  const std::string_view key = pair.field("key").text();
  return (key == "\"lr\"" || key == "'lr'") && call && call.field("function").text().find("optim") != std::string_view::npos;
}

}  // namespace

Uses::Uses(const Followed& edited, const Idle& idle, const Building& building)
    : edited_(edited), idle_(idle), building_(building), names_(edited.sources, idle), places_(edited, building) {}

void Uses::add(Node scope, const std::string& name, bool attribute) {
  if (!name.empty() && seen_.emplace(scope ? scope.id() : nullptr, name, attribute).second) open_.push_back({scope, name, attribute});
}

void Uses::target(Node node) {
  if (node.is("attribute") && node.field("attribute").text() == "data" && places_.is_inside_maker(node))
    return;  // values: sizes are compared
  if (node.is("attribute")) {
    const std::string name(node.field("attribute").text());
    const bool own = places_.is_inside_maker(node) && node.field("object").text() == "self";
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
    return add(names_.scope_of(node, name), name);
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

Uses::Why Uses::run() {
  while (!open_.empty()) {
    const Named open = open_.front();
    open_.pop_front();
    const auto uses = names_.all_of(open);
    // A package may read it in a file that is not here, or by its name alone.
    if (flags_.contains(open.name) && uses.empty() && open.attribute && fields_.contains(open.name))
      return Unclear{.reason = "what `" + open.name + "` changes is not known: nothing that was followed reads it"};
    for (const Node& node : uses) {
      if (auto why = occurrence(node, open)) return why;
    }
  }
  return lost_;
}

Uses::Why Uses::occurrence(Node node, const Named& open) {
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
  const bool shows = places_.is_in_package_maker(node) && !flags_.contains(open.name);
  if (places_.followed(node)) {
    auto why = value(node, open.name);
    return shows ? std::nullopt : why;
  }
  return shows || places_.never_runs(node) ? std::nullopt : elsewhere(node, open.name);
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
  const bool held = use.is("attribute") && use.field("object").text() == "self" && places_.is_in_class_of_module(use) &&
                    (compared(use) || places_.is_held_by_modules(use));
  if (is_size(use) && !places_.is_in_class_of_module(use)) note_size(use);
  const bool known = is_size(use) || held || (use.is("attribute") && is_followed_in_function(use, true, compared)) ||
                     places_.calls_layer(use) || places_.bounds_list(use) || places_.is_compared(use) ||
                     was_passed_by(edited_.sources, use) || (use.is("attribute") && is_rate_or_factor(use));
  return function_around(use) && known ? std::nullopt : Why(unknown(use, name));
}

void Uses::note_size(Node use) {
  const Node call = source::enclosing(use, "call");
  if (!sizing_.insert(call.id()).second) return;
  const Node function = function_around(use);
  const auto calls = function ? names_.spelled(std::string(function.field("name").text())) : std::vector<Node>();
  sized_.push_back({.maker = std::string(call.field("function").field("attribute").text()),
                    .in_modules = std::ranges::any_of(calls, [&](const Node& one) { return places_.is_in_class_of_module(one); }),
                    .at = line_of(use)});
}

Uses::Why Uses::unknown(Node use, const std::string& name) {
  if (name.empty())
    return Unclear{.reason = "something else than layers was edited: " + excerpt(source::statement_of(use)), .at = line_of(use)};
  const std::string where = source::qualified_name(use);
  return Unclear{
      .reason = (where == "<module>" ? "the script" : where) + " uses " + name + ", which was edited; what it does with it is not followed",
      .at = line_of(use)};
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
  if (text == "super().__init__" && all.empty() && places_.is_inside_maker(call)) return Why{};  // of a layer of torch.nn
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
  const std::string_view keyword = given.is("keyword_argument") ? given.field("name").text() : std::string_view();
  const bool updates = text.find("optim") != std::string_view::npos || text.find("lr_scheduler") != std::string_view::npos;
  // What the script gives it is compared.
  if (updates && is_rate_of_update(text, keyword) && (keyword == "lr" || !places_.is_inside_maker(call))) return Why{};
  if (text.find("init.") != std::string_view::npos && last.ends_with("_")) return Why{};  // nn.init.normal_
  if (last == "update" && text.ends_with("__dict__.update")) return keeps_rest(call, given, name);
  if (!places_.is_inside_maker(call)) return unknown(call, name);
  if (places_.names_layer(call, given)) return Why{};
  const bool of_weight = text.ends_with("weight.data." + std::string(last)) || text.ends_with("weight." + std::string(last));
  if (of_weight && last.ends_with("_")) return Why{};  // `self.embed.weight.data.uniform_(-1 / words, 1 / words)`
  if (last == "register_buffer" || last == "register_parameter" || last == "Parameter") return Why{};
  if (text.starts_with("torch.") || text.starts_with("np.") || text.starts_with("numpy.")) return std::nullopt;
  return unknown(call, name);
}

Uses::Why Uses::value(Node node, const std::string& name) {
  const Node function = function_around(node);
  const bool method = node.is("attribute") && function && !places_.is_inside_maker(node) && !edited_.interpreter.makes(function.id());
  if (places_.is_size_in_loop(node)) {
    note_size(node);
    return std::nullopt;
  }
  if (method && is_size(node)) return std::nullopt;
  Node child = node;
  for (Node up = node.parent(); up; child = up, up = up.parent()) {
    const std::string_view kind = up.kind();
    if (kind == "conditional_expression" && places_.chooses_layers(up, child)) return std::nullopt;
    if (kind == "dictionary" && is_rate_of_group(child)) return std::nullopt;
    if (is_part(up) || (kind == "subscript") || (kind == "attribute")) continue;
    if (kind == "call") {
      if (is_field_of(child, up, "function")) {
        if (building_.built(up)) return std::nullopt;  // a kind of layer
        if (is_of_tensor(child) && places_.is_inside_maker(up)) continue;
        if (changes_list(child) && places_.is_inside_maker(up)) return std::nullopt;
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
      const bool makes = whole.is("for_statement") && places_.is_inside_maker(whole) && !edited_.interpreter.forgotten(whole.id());
      return makes || building_.is_building_statement(whole) || places_.fills_nothing(whole) || places_.only_raises(whole) ||
                     places_.only_keeps(whole)
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
  for (const Node& one : names_.spelled(own)) {
    const Node callee = one.parent().is("attribute") ? one.parent() : one, call = callee.parent();
    if (!call.is("call") || !is_field_of(callee, call, "function") || building_.built(call)) continue;
    if (by_parameter && !places_.followed(call)) continue;  // it is given something else there, which is followed by itself
    if (auto why = places_.followed(call) ? value(call, name.empty() ? own : name) : elsewhere(call, own)) return why;
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
