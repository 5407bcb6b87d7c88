#include "annotator/advice/edits/time_loops.h"

#include <algorithm>
#include <array>

namespace hotlens::advice {
namespace {

bool counts(const PythonText& text, TSNode iterated) {
  if (type(iterated) != "call") return false;
  const TSNode arguments = field(iterated, "arguments");
  if (text.at(field(iterated, "function")) == "range") return true;
  return text.at(field(iterated, "function")) == "reversed" && ts_node_named_child_count(arguments) == 1 &&
         counts(text, ts_node_named_child(arguments, 0));
}

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

}  // namespace

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

std::string fresh_name(const PythonText& text, std::string name) {
  while (text.text().contains(name)) name += "_";
  return name;
}

}  // namespace hotlens::advice
