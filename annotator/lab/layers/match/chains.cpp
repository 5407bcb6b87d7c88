#include "annotator/lab/layers/match/chains.h"

#include <algorithm>

#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

// The arguments after the first as a text: calls that differ in them are different.
std::string others(const std::vector<Node>& given, std::size_t from) {
  std::string all;
  for (std::size_t at = from; at < given.size(); ++at) all += (all.empty() ? "" : ", ") + std::string(given[at].text());
  return all;
}

bool is_bound(const source::Code& code, std::string_view name) {
  return code.names().contains(std::string(name)) || !code.star_imports().empty();
}

// "blocks.*" where a loop gives the name to each of `self.blocks`, in turn: `for block in self.blocks:`. Empty: it is no such name.
std::string entries_named(Node name) {
  for (Node up = name.parent(); up && !up.is("function_definition"); up = up.parent()) {
    if (!up.is("for_statement")) continue;
    Node target = up.field("left"), list = up.field("right");
    if (list.is("call") && list.field("function").text() == "enumerate" && target.is("pattern_list") && target.children().size() == 2) {
      target = target.children()[1];
      list = list.field("arguments").child();
    }
    if (!target.is("identifier") || target.text() != name.text()) continue;
    const bool own = list.is("attribute") && list.field("object").text() == "self";
    return own ? std::string(list.field("attribute").text()).append(kEach) : std::string();
  }
  return {};
}

bool is_of_torch(std::string_view module) {
  return module == "F" || module == "torch" || module == "functional" || module.ends_with("nn.functional");
}

// Of a choice whose condition is known, what it chooses.
Node chosen(Node expression, const Holds& holds) {
  for (;;) {
    const auto parts = expression.children();
    if (expression.is("parenthesized_expression") && parts.size() == 1) {
      expression = parts[0];
    } else if (const auto known = expression.is("conditional_expression") && parts.size() == 3 ? holds(parts[1]) : std::nullopt) {
      expression = *known ? parts[0] : parts[2];
    } else {
      return expression;
    }
  }
}

// Statements; those that hand the same name on are one chain. Of a branch whose condition is known, what runs.
void add_chains(Node block, const Reading& reading, std::vector<Chain>& all) {
  for (const Node& statement : block.children()) {
    if (is_silent(statement)) continue;
    const bool chooses = statement.is("if_statement") && statement.children("elif_clause").empty();
    if (const auto known = chooses ? reading.holds(statement.field("condition")) : std::nullopt) {
      const auto otherwise = statement.children("else_clause");
      if (*known) add_chains(statement.field("consequence"), reading, all);
      if (!*known && !otherwise.empty()) add_chains(otherwise.front().field("body"), reading, all);
      continue;
    }
    const auto parts = statement.children();
    const bool assigns = statement.is("expression_statement") && parts.size() == 1 && parts[0].is("assignment") &&
                         parts[0].field("right") && parts[0].field("left").is("identifier");
    const bool returns = statement.is("return_statement") && parts.size() == 1;
    if (!assigns && !returns) {
      all.push_back({.base = statement, .node = statement, .target = {}, .steps = {}});
      continue;
    }
    Chain chain = chain_of(assigns ? parts[0].field("right") : parts[0], reading);
    chain.target = assigns ? parts[0].field("left").text() : "return";
    chain.node = statement;
    const bool goes_on = !all.empty() && !all.back().target.empty() && chain.base.is("identifier") &&
                         chain.base.text() == all.back().target && (returns || chain.target == all.back().target);
    if (goes_on) {
      all.back().target = chain.target;
      all.back().steps.insert(all.back().steps.end(), chain.steps.begin(), chain.steps.end());
    } else {
      all.push_back(std::move(chain));
    }
  }
}

}  // namespace

std::string key(const Step& step) {
  return step.function.empty() ? "self." + step.path : step.function;
}

std::string function_name(const Step& step) {
  return step.function.substr(0, step.function.find('('));
}

bool is_repeated(Node node) {
  const Node function = source::enclosing(node, "function_definition");
  const auto inside = [&](Node loop) { return loop && is_within(loop, function); };
  return inside(source::enclosing(node, "for_statement")) || inside(source::enclosing(node, "while_statement"));
}

std::string_view missing_module(Node code) {
  std::string_view found;
  source::walk(code, [&](Node node) {
    const Node of = node.is("call") ? node.field("function").field("object") : Node{};
    if (of.is("identifier") && (of.text() == "F" || of.text() == "torch" || of.text() == "nn") && !is_bound(*code.code, of.text()))
      found = of.text();
    return found.empty();
  });
  return found;
}

std::optional<std::pair<Step, Node>> step_of(Node call) {
  const Node callee = call.field("function"), list = call.field("arguments");
  if (callee.is("identifier") && list.is("argument_list") && list.children().size() == 1) {
    const std::string path = entries_named(callee);
    if (path.empty() || list.child().is("keyword_argument") || list.child().is("list_splat")) return std::nullopt;
    return std::pair{Step{.path = path, .at = call}, list.child()};
  }
  if (!callee || !list || !callee.is("attribute") || list.is("generator_expression")) return std::nullopt;
  const Node object = callee.field("object");
  const std::string name(callee.field("attribute").text());
  const auto given = list.children();
  const bool plain = !given.empty() && !given[0].is("keyword_argument") && !given[0].is("list_splat");
  if (object.is("identifier") && object.text() == "self") {
    if (!plain || given.size() != 1) return std::nullopt;
    return std::pair{Step{.path = name, .at = call}, given[0]};
  }
  const std::string_view module = object.text();
  if (is_of_torch(module)) {
    const bool known = is_bound(*call.code, module.substr(0, module.find('.')));
    if (!plain || given[0].is("list") || given[0].is("tuple") || !known) return std::nullopt;
    return std::pair{Step{.path = {}, .function = name + "(" + others(given, 1) + ")", .at = call}, given[0]};
  }
  return std::pair{Step{.path = {}, .function = name + "(" + others(given, 0) + ")", .at = call}, object};
}

Chain chain_of(Node expression, const Reading& reading) {
  Chain chain{.base = expression, .node = expression, .target = {}, .steps = {}};
  for (;;) {
    chain.base = chosen(chain.base, reading.holds);
    const auto step = chain.base.is("call") ? step_of(chain.base) : std::nullopt;
    if (!step) break;
    const bool inlined =
        step->first.function.empty() && reading.inlined.contains(step->first.path) && reading.parts.contains(step->first.path);
    const auto inside = inlined ? steps_of_part(step->first.path, reading).value() : std::vector{step->first};
    chain.steps.insert(chain.steps.end(), inside.rbegin(), inside.rend());
    chain.base = step->second;
  }
  std::ranges::reverse(chain.steps);
  return chain;
}

std::vector<Chain> chains_of(Node block, const Reading& reading) {
  std::vector<Chain> all;
  add_chains(block, reading, all);
  return all;
}

std::optional<std::vector<Step>> steps_of_part(const std::string& name, const Reading& reading) {
  const Node part = reading.parts.at(name);
  const auto parameters = part.field("parameters").children();
  const auto chains = chains_of(part.field("body"), reading);
  const bool hands_on = parameters.size() == 2 && chains.size() == 1 && chains[0].target == "return" && chains[0].base.is("identifier") &&
                        chains[0].base.text() == parameters[1].text();
  return hands_on ? std::optional(chains[0].steps) : std::nullopt;
}

Lines lines_of(Node code) {
  const source::Range range = code.range();
  return {std::int64_t{range.begin.line} + 1, std::int64_t{range.end.line} + 1};
}

std::optional<Lines> lines_of_value(Node value) {
  const Node above = value.parent();
  if (is_repeated(value)) return std::nullopt;
  const bool whole = (above.is("assignment") && above.field("right").id() == value.id()) || above.is("return_statement");
  const Node callee = value.field("function"), of = value.is("call") ? callee.field("object") : value.field("value");
  // Torch's, or a method of a tensor: of no layer, and of nothing that the file imports or defines.
  const bool other = of.text().starts_with("self") || (of.is("identifier") && of.code->names().contains(std::string(of.text())));
  const bool called = value.is("call") && callee.is("attribute") && (is_of_torch(of.text()) || !other);
  const bool part = value.is("subscript") && of.is("identifier");
  if (!whole || !(called || part || value.is("binary_operator") || value.is("unary_operator"))) return std::nullopt;
  return lines_of(source::statement_of(value));
}

}  // namespace hotlens::layers
