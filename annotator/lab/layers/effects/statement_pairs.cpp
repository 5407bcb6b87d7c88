#include "annotator/lab/layers/effects/statement_pairs.h"

#include <string>
#include <utility>

#include "annotator/lab/layers/match/subsequence.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {

std::vector<Difference> differences(const Nodes& was, const Nodes& is) {
  std::vector<std::string> a, b;
  for (const Node& one : was) a.push_back(wording(one));
  for (const Node& one : is) b.push_back(wording(one));
  // What begins and ends alike is left out of the square.
  std::size_t first = 0, last = 0;
  while (first < a.size() && first < b.size() && a[first] == b[first]) ++first;
  while (first + last < a.size() && first + last < b.size() && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  const auto middle = [&](const Nodes& all) {
    return Nodes(all.begin() + static_cast<std::ptrdiff_t>(first), all.end() - static_cast<std::ptrdiff_t>(last));
  };
  const Nodes old = middle(was), now = middle(is);
  const auto same = [&](std::size_t i, std::size_t j) { return std::size_t{a[first + i] == b[first + j]}; };
  auto pairs = common_subsequence(old.size(), now.size(), same);
  pairs.emplace_back(old.size(), now.size());
  std::vector<Difference> found;
  std::size_t i = 0, j = 0;
  for (const auto& [next_i, next_j] : pairs) {
    Difference one;
    for (; i < next_i; ++i) one.was.push_back(old[i]);
    for (; j < next_j; ++j) one.is.push_back(now[j]);
    ++i, ++j;
    if (!one.was.empty() || !one.is.empty()) found.push_back(std::move(one));
  }
  return found;
}

Node definition_of(Node statement) {
  return statement.is("decorated_definition") ? statement.field("definition") : statement;
}

bool is_definition(Node node) {
  return node.is("function_definition") || node.is("class_definition");
}

Node assignment_of(Node statement) {
  const auto parts = statement.is("expression_statement") ? statement.children() : Nodes();
  return parts.size() == 1 && (parts[0].is("assignment") || parts[0].is("augmented_assignment")) ? parts[0] : Node{};
}

Node call_of(Node statement) {
  const auto parts = statement.is("expression_statement") ? statement.children() : Nodes();
  return parts.size() == 1 && parts[0].is("call") ? parts[0] : Node{};
}

bool is_same_statement(Node was, Node is) {
  if (was.kind() != is.kind()) return false;
  const Node old = definition_of(was), now = definition_of(is);
  if (is_definition(old) || is_definition(now)) return old.kind() == now.kind() && old.field("name").text() == now.field("name").text();
  const Node a = assignment_of(was), b = assignment_of(is);
  if (a && b) return wording(a.field("left")) == wording(b.field("left"));
  if (call_of(was) && call_of(is)) return wording(call_of(was).field("function")) == wording(call_of(is).field("function"));
  return !was.is("expression_statement");
}

}  // namespace hotlens::layers
