#include "annotator/costs/finder.h"

#include <limits>

namespace hotlens::costs {
namespace {

using attribution::kNoNode;

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max() - 1;
// Real steps have some hundred; a recording in which every shape is another would make a table as long as itself.
constexpr std::size_t kMostKinds = 10'000;

}  // namespace

Finder::Finder(const trace::Trace& trace, const attribution::Forest& forest, const Given& given)
    : trace_(trace), forest_(forest), given_(given), rules_(trace.names.size()) {
  if (given_.inputs.size() == 0) return;  // then nothing is ever asked of a node
  found_.assign(forest.size(), kUnknown);
  kind_of_.assign(forest.size(), kUnknown);
}

Finder::Rule Finder::rule_of(std::uint32_t node) {
  if (forest_.kind[node] != attribution::Kind::op) return Rule::none;
  const trace::NameId name = trace_.events.name[forest_.event[node]];
  Rule& rule = rules_[name.index];
  if (rule == Rule::unknown) {
    const std::string_view text = trace_.names[name];
    rule = kernels::has_arithmetic(text) ? Rule::arithmetic : kernels::has_rule(text) ? Rule::move : Rule::none;
  }
  return rule;
}

std::optional<std::size_t> Finder::row_of(std::uint32_t node) const {
  const std::uint32_t event = given_.twin ? (*given_.twin)[node] : forest_.event[node];
  return event == kNoNode ? std::nullopt : trace::row_of(given_.inputs.event, event);
}

std::string_view Finder::shapes(std::uint32_t found) const {
  const auto row = row_of(found);
  return row ? given_.text[given_.inputs.shapes[*row]] : std::string_view();
}

bool Finder::has_cost(std::uint32_t node) {
  std::uint32_t& kind = kind_of_[node];
  if (kind != kUnknown) return kind != kNoNode;
  kind = kNoNode;
  const auto row = row_of(node);
  if (rule_of(node) == Rule::none || !row || !given_.inputs.shapes[*row].valid()) return false;
  const trace::NameId name = trace_.events.name[forest_.event[node]], shapes = given_.inputs.shapes[*row],
                      types = given_.inputs.types[*row], values = given_.inputs.values[*row];
  const auto [at, fresh] = known_.try_emplace({name.index, shapes.index, types.index, values.index}, kNoNode);
  if (fresh && kinds_.size() < kMostKinds) {
    const auto text = [&](trace::NameId id) { return id.valid() ? given_.text[id] : std::string_view(); };
    const auto cost = kernels::cost(trace_.names[name], kernels::Arguments(text(shapes), text(types), text(values)));
    if (cost) {
      at->second = static_cast<std::uint32_t>(kinds_.size());
      kinds_.push_back({node, *cost});
    }
  }
  kind = at->second;
  return kind != kNoNode;
}

// To an operator inside it that does arithmetic of its own.
bool Finder::hands_on(std::uint32_t node) {
  for (std::uint32_t inner = node + 1; inner < forest_.size() && forest_.parent[inner] != kNoNode && forest_.parent[inner] >= node;
       ++inner) {
    if (rule_of(inner) == Rule::arithmetic && has_cost(inner)) return true;
  }
  return false;
}

std::uint32_t Finder::settled(std::uint32_t node, std::uint32_t outer) {
  const Rule rule = rule_of(node);
  if (rule == Rule::arithmetic && has_cost(node) && !hands_on(node)) return node;
  if (outer != kNoNode) return outer;
  return rule == Rule::move && has_cost(node) ? node : kNoNode;
}

std::uint32_t Finder::operator_of(std::uint32_t node) {
  if (found_.empty()) return kNoNode;
  std::vector<std::uint32_t> open;
  while (node != kNoNode && found_[node] == kUnknown) {
    open.push_back(node);
    node = forest_.parent[node];
  }
  std::uint32_t outer = node == kNoNode ? kNoNode : found_[node];
  for (; !open.empty(); open.pop_back()) outer = found_[open.back()] = settled(open.back(), outer);
  return outer;
}

}  // namespace hotlens::costs
