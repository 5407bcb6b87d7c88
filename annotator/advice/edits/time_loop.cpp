// `x[t]` in a loop over time → `x_steps[t]`, with `x_steps = x.unbind(dim)` before the loop.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

// `for t in range(…):`, also backwards.
struct Loop {
  TSNode node, body;
  std::string_view variable;
};

// `x[:, t]` of a name: which dimension t is.
struct Step {
  std::string_view name;
  int dim = 0;
};

// What a loop does with one name.
struct Sequence {
  std::string_view name;
  int dim = 0;
  std::vector<Span> steps;
  std::string wrong;  // why it cannot be taken apart; empty: it can
};

bool counts(const PythonText& text, TSNode iterated) {
  if (type(iterated) != "call") return false;
  const TSNode arguments = field(iterated, "arguments");
  if (text.at(field(iterated, "function")) == "range") return true;
  return text.at(field(iterated, "function")) == "reversed" && ts_node_named_child_count(arguments) == 1 &&
         counts(text, ts_node_named_child(arguments, 0));
}

std::vector<Loop> loops(const PythonText& text) {
  std::vector<Loop> found;
  each_node(text.root(), [&](TSNode node) {
    if (type(node) != "for_statement" || type(field(node, "left")) != "identifier") return;
    if (counts(text, field(node, "right"))) found.push_back({node, field(node, "body"), text.at(field(node, "left"))});
  });
  return found;
}

std::optional<Step> step_of(const PythonText& text, TSNode node, std::string_view variable) {
  if (type(node) != "subscript" || type(field(node, "value")) != "identifier") return std::nullopt;
  std::vector<TSNode> places;
  each_child(node, [&](TSNode child) {
    if (!ts_node_eq(child, field(node, "value")) && type(child) != "comment") places.push_back(child);
  });
  std::optional<int> dim;
  bool from_behind = false;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const std::string_view place = text.at(places[at]);
    if (place == ":") continue;
    if (place == "..." && at == 0) {
      from_behind = true;
    } else if (place == variable && !dim) {
      dim = static_cast<int>(at);
    } else {
      return std::nullopt;
    }
  }
  if (!dim) return std::nullopt;
  return Step{text.at(field(node, "value")), from_behind ? *dim - static_cast<int>(places.size()) : *dim};
}

bool is_read(TSNode subscript) {
  const TSNode parent = ts_node_parent(subscript);
  const std::string_view kind = type(parent);
  const bool target = (kind == "assignment" || kind == "augmented_assignment") && ts_node_eq(field(parent, "left"), subscript);
  return !target && kind != "delete_statement" && kind != "pattern_list" && kind != "tuple_pattern";
}

// `x[t].add_(1)`
bool is_written(const PythonText& text, TSNode subscript) {
  const TSNode parent = ts_node_parent(subscript);
  return !is_read(subscript) || (type(parent) == "attribute" && text.at(field(parent, "attribute")).ends_with('_'));
}

// `x.size(0)`, `x.shape`, `len(x)`: it stays what it is.
bool only_asks(const PythonText& text, TSNode name) {
  constexpr auto kAsked = std::to_array<std::string_view>({"size", "shape", "dim", "ndim", "device", "dtype"});
  const TSNode parent = ts_node_parent(name);
  if (type(parent) == "attribute") {
    const bool is_object = ts_node_eq(field(parent, "object"), name);
    return !is_object || std::ranges::find(kAsked, text.at(field(parent, "attribute"))) != kAsked.end();
  }
  const TSNode call = ts_node_parent(parent);
  return type(parent) == "argument_list" && type(call) == "call" && text.at(field(call, "function")) == "len";
}

bool is_keyword(TSNode name) {
  const TSNode parent = ts_node_parent(name);
  return type(parent) == "keyword_argument" && ts_node_eq(field(parent, "name"), name);
}

// What the function around the loop tells of a name: it is used as only tensors are, it is a list, or neither is certain.
enum class Known : std::uint8_t { nothing, tensor, list };

// Of what is assigned to it.
Known known_by(const PythonText& text, TSNode value) {
  constexpr auto kGiveTensors = std::to_array<std::string_view>({"transpose", "permute", "unsqueeze", "contiguous", "movedim", "view"});
  constexpr auto kGiveLists = std::to_array<std::string_view>({"unbind", "split", "chunk"});
  const std::string_view kind = type(value);
  if (kind == "list" || kind == "list_comprehension" || kind == "tuple") return Known::list;
  if (kind != "call" || type(field(value, "function")) != "attribute") return Known::nothing;
  const std::string_view method = text.at(field(field(value, "function"), "attribute"));
  if (std::ranges::find(kGiveTensors, method) != kGiveTensors.end()) return Known::tensor;
  return std::ranges::find(kGiveLists, method) != kGiveLists.end() ? Known::list : Known::nothing;
}

// `y, h = x.transpose(0, 1), 0` too.
Known assigned_as(const PythonText& text, TSNode assignment, std::string_view name) {
  const TSNode left = field(assignment, "left"), right = field(assignment, "right");
  if (ts_node_is_null(right)) return Known::nothing;
  if (text.at(left) == name) return known_by(text, right);
  if (type(left) != "pattern_list" || type(right) != "expression_list") return Known::nothing;
  const std::uint32_t several = ts_node_named_child_count(left);
  for (std::uint32_t at = 0; at < several && several == ts_node_named_child_count(right); ++at) {
    if (text.at(ts_node_named_child(left, at)) == name) return known_by(text, ts_node_named_child(right, at));
  }
  return Known::nothing;
}

Known known_of(const PythonText& text, const Loop& loop, std::string_view name) {
  constexpr auto kOfTensors = std::to_array<std::string_view>({"size", "shape", "dim", "transpose", "permute", "unsqueeze", "device"});
  const TSNode function = around(loop.node, "function_definition");
  bool tensor = false, list = false;
  each_node(ts_node_is_null(function) ? text.root() : function, [&](TSNode node) {
    const std::string_view kind = type(node);
    if (kind == "attribute" && text.at(field(node, "object")) == name) {
      tensor = tensor || std::ranges::find(kOfTensors, text.at(field(node, "attribute"))) != kOfTensors.end();
    } else if (kind == "subscript" && text.at(field(node, "value")) == name) {
      tensor = tensor || ts_node_named_child_count(node) > 2;                                                              // x[:, t]
      list = list || (type(ts_node_parent(node)) == "call" && ts_node_eq(field(ts_node_parent(node), "function"), node));  // cells[t](x)
    } else if (kind == "typed_parameter" && text.at(ts_node_named_child(node, 0)) == name) {
      tensor = tensor || text.at(field(node, "type")).ends_with("Tensor");
    } else if (kind == "assignment") {
      const Known assigned = assigned_as(text, node, name);
      tensor = tensor || assigned == Known::tensor;
      list = list || assigned == Known::list;
    }
  });
  return list ? Known::list : tensor ? Known::tensor : Known::nothing;
}

std::string place(const Script& script, std::size_t file, TSNode node) {
  return script.place(file, span(node).begin);
}

// Of every name that the loop takes steps of.
std::vector<Sequence> sequences(const Script& script, std::size_t file, const Loop& loop) {
  const PythonText& text = script.texts()[file];
  std::map<std::string_view, Sequence> found;
  each_node(loop.body, [&](TSNode node) {
    const auto step = step_of(text, node, loop.variable);
    const Known what = step && is_read(node) ? known_of(text, loop, step->name) : Known::list;
    if (what == Known::list) return;
    const auto [known, fresh] = found.try_emplace(step->name, Sequence{step->name, step->dim, {}, {}});
    if (what == Known::nothing)
      known->second.wrong = fmt::format("it is not certain that `{}` is a tensor, at {}", step->name, place(script, file, node));
    if (!fresh && known->second.dim != step->dim) known->second.wrong = fmt::format("`{}` is taken apart in two ways", step->name);
    known->second.steps.push_back(span(node));
  });
  each_node(loop.body, [&](TSNode node) {
    if (type(node) != "identifier" || is_keyword(node)) return;
    const std::string_view name = text.at(node);
    const TSNode parent = ts_node_parent(node);
    const auto known = found.find(name);
    const bool assigned = type(parent) == "for_statement" || (type(parent) == "assignment" && ts_node_eq(field(parent, "left"), node));
    if (name == loop.variable && (assigned || type(parent) == "augmented_assignment" || type(parent) == "pattern_list")) {
      for (auto& [other, sequence] : found)
        sequence.wrong = fmt::format("`{}` is set within its loop, at {}", name, place(script, file, node));
    }
    if (known == found.end() || !known->second.wrong.empty() || only_asks(text, node)) return;
    const bool indexed = step_of(text, parent, loop.variable) && ts_node_eq(field(parent, "value"), node);
    if (indexed && !is_written(text, parent)) return;
    const char* what = assigned ? "assigned" : indexed ? "changed" : "used in another way than by its steps";
    known->second.wrong = fmt::format("`{}` is {} in the loop, at {}", name, what, place(script, file, node));
  });
  std::vector<Sequence> all;
  for (auto& [name, one] : found) all.push_back(std::move(one));
  return all;
}

std::string fresh_name(const PythonText& text, std::string_view name) {
  std::string made = std::string(name) + "_steps";
  while (text.text().contains(made)) made += "_";
  return made;
}

std::optional<NoEdit> take_apart(const Script& script, std::size_t file, const Loop& loop, const std::vector<Sequence>& all,
                                 ByPlace& edits) {
  const PythonText& text = script.texts()[file];
  const std::uint32_t begin = span(loop.node).begin;
  const std::string indentation = script.indentation(file, begin);
  if (indentation.find_first_not_of(" \t") != std::string::npos) {
    return NoEdit{.reason = fmt::format("the loop at {} shares its line", script.place(file, begin)), .by_hand = {}};
  }
  std::string before;
  for (const Sequence& one : all) {
    if (!one.wrong.empty()) return NoEdit{.reason = one.wrong, .by_hand = {}};
    const std::string steps = fresh_name(text, one.name);
    before += fmt::format("{} = {}.unbind({}){}{}", steps, one.name, one.dim, line_end(text.text()), indentation);
    for (const Span& step : one.steps) edits[file].emplace(step.begin, Replacement{step, fmt::format("{}[{}]", steps, loop.variable)});
  }
  edits[file].emplace(begin, Replacement{{begin, begin}, before});
  return std::nullopt;
}

}  // namespace

Made unbind_time(const Script& script, std::span<const std::string> paths) {
  const std::set<std::string> classes = script.classes_of(paths);
  for (const bool within : {true, false}) {
    ByPlace edits;
    for (std::size_t file = 0; file < script.texts().size(); ++file) {
      const PythonText& text = script.texts()[file];
      for (const Loop& loop : loops(text)) {
        const TSNode owner = around(loop.node, "class_definition");
        const bool of_class = !ts_node_is_null(owner) && classes.contains(std::string(text.at(field(owner, "name"))));
        if (within != of_class || (!within && !ts_node_is_null(owner))) continue;
        const std::vector<Sequence> all = sequences(script, file, loop);
        if (all.empty()) continue;
        if (auto why = take_apart(script, file, loop, all, edits)) return std::unexpected(std::move(*why));
      }
    }
    if (!edits.empty()) return listed(std::move(edits));
  }
  return no("no loop `for t in range(…)` takes `x[t]` of a name that is certainly a tensor");
}

}  // namespace hotlens::advice
