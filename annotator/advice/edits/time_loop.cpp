// `x[t]` in a loop over time → `x_steps[t]`, with `x_steps = x.unbind(dim)` before the loop.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/time_loops.h"

namespace hotlens::advice {
namespace {

// What a loop does with one name.
struct Sequence {
  std::string_view name;
  int dim = 0;
  std::vector<Span> steps;
  std::string wrong;  // why it cannot be taken apart; empty: it can
};

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
    const std::string steps = fresh_name(text, std::string(one.name) + "_steps");
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
