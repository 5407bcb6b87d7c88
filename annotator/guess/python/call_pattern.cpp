#include "annotator/guess/python/call_pattern.h"

#include <algorithm>
#include <utility>

namespace hotlens::guess {
namespace {

using States = std::vector<char>;
using Edges = std::vector<Pattern::Edge>;

constexpr std::size_t kMostWork = 8'000'000;  // steps; the largest body of a real model needs a twentieth
constexpr std::size_t kMostRounds = 64;       // loops inside each other need one more round each

// Adds what is reached without a call. Edges stand almost in the order of the body, so two or three rounds do.
void close(const Edges& edges, States& states) {
  bool more = true;
  for (std::size_t round = 0; more && round < kMostRounds; ++round) {
    more = false;
    for (const Pattern::Edge& edge : edges) {
      if (edge.call >= 0 || !states[edge.from] || states[edge.to]) continue;
      states[edge.to] = 1;
      more = true;
    }
  }
}

// The same ways from the end to the beginning.
Edges backwards(Edges edges) {
  std::ranges::reverse(edges);
  for (Pattern::Edge& edge : edges) std::swap(edge.from, edge.to);
  return edges;
}

States begin_at(std::uint32_t state, const Edges& edges, std::uint32_t states) {
  States begun(states);
  begun[state] = 1;
  close(edges, begun);
  return begun;
}

}  // namespace

std::optional<std::vector<std::vector<std::uint32_t>>> align(const Pattern& pattern, std::size_t tokens, const Accepts& accepts) {
  if (tokens * (pattern.edges.size() + 1) > kMostWork) return std::nullopt;
  std::vector<States> reached{begin_at(0, pattern.edges, pattern.states)};
  for (std::size_t token = 0; token < tokens; ++token) {
    States after(pattern.states);
    for (const Pattern::Edge& edge : pattern.edges) {
      if (edge.call < 0 || !reached[token][edge.from] || after[edge.to]) continue;
      after[edge.to] = accepts(static_cast<std::uint32_t>(edge.call), token);
    }
    close(pattern.edges, after);
    reached.push_back(std::move(after));
  }
  if (!reached[tokens][1]) return std::nullopt;
  const Edges back = backwards(pattern.edges);
  std::vector<std::vector<std::uint32_t>> found(tokens);
  States alive = begin_at(1, back, pattern.states);
  for (std::size_t token = tokens; token-- > 0;) {
    States before(pattern.states);
    for (const Pattern::Edge& edge : pattern.edges) {
      const auto call = static_cast<std::uint32_t>(edge.call);
      if (edge.call < 0 || !alive[edge.to] || !reached[token][edge.from] || !accepts(call, token)) continue;
      before[edge.from] = 1;
      add_once(found[token], call);
    }
    close(back, before);
    alive = std::move(before);
  }
  return found;
}

}  // namespace hotlens::guess
