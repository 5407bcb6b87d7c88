#include "annotator/guess/python/call_pattern.h"

#include <algorithm>
#include <span>

namespace hotlens::guess {
namespace {

using States = std::vector<char>;

constexpr std::size_t kMostWork = 8'000'000;  // steps; the largest body of a real model needs a twentieth

// Edges by the state they leave (or, `backwards`, enter).
class Adjacent {
 public:
  Adjacent(const Pattern& pattern, bool backwards) : begin_(pattern.states + 1), edges_(pattern.edges.size()) {
    const auto from = [&](const Pattern::Edge& edge) { return backwards ? edge.to : edge.from; };
    for (const Pattern::Edge& edge : pattern.edges) ++begin_[from(edge) + 1];
    for (std::size_t state = 1; state < begin_.size(); ++state) begin_[state] += begin_[state - 1];
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (std::uint32_t edge = 0; edge < pattern.edges.size(); ++edge) edges_[next[from(pattern.edges[edge])]++] = edge;
  }
  std::span<const std::uint32_t> operator[](std::uint32_t state) const {
    return std::span(edges_).subspan(begin_[state], begin_[state + 1] - begin_[state]);
  }

 private:
  std::vector<std::uint32_t> begin_, edges_;
};

void close(const Pattern& pattern, const Adjacent& adjacent, bool backwards, States& states) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t state = 0; state < states.size(); ++state) {
    if (states[state]) open.push_back(state);
  }
  while (!open.empty()) {
    const std::uint32_t state = open.back();
    open.pop_back();
    for (const std::uint32_t edge : adjacent[state]) {
      const std::uint32_t next = backwards ? pattern.edges[edge].from : pattern.edges[edge].to;
      if (pattern.edges[edge].call >= 0 || states[next]) continue;
      states[next] = 1;
      open.push_back(next);
    }
  }
}

}  // namespace

std::optional<std::vector<std::vector<std::uint32_t>>> align(const Pattern& pattern, std::size_t tokens, const Accepts& accepts) {
  if (tokens * (pattern.edges.size() + 1) > kMostWork) return std::nullopt;
  const Adjacent forward(pattern, false), backward(pattern, true);
  std::vector<States> reached(tokens + 1, States(pattern.states));
  reached[0][0] = 1;
  close(pattern, forward, false, reached[0]);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (const Pattern::Edge& edge : pattern.edges) {
      if (edge.call < 0 || !reached[token][edge.from] || reached[token + 1][edge.to]) continue;
      if (accepts(static_cast<std::uint32_t>(edge.call), token)) reached[token + 1][edge.to] = 1;
    }
    close(pattern, forward, false, reached[token + 1]);
  }
  if (!reached[tokens][1]) return std::nullopt;
  std::vector<std::vector<std::uint32_t>> found(tokens);
  States alive(pattern.states);
  alive[1] = 1;
  close(pattern, backward, true, alive);
  for (std::size_t token = tokens; token-- > 0;) {
    States before(pattern.states);
    for (const Pattern::Edge& edge : pattern.edges) {
      if (edge.call < 0 || !alive[edge.to] || !reached[token][edge.from]) continue;
      const auto call = static_cast<std::uint32_t>(edge.call);
      if (!accepts(call, token)) continue;
      before[edge.from] = 1;
      if (std::ranges::find(found[token], call) == found[token].end()) found[token].push_back(call);
    }
    close(pattern, backward, true, before);
    alive = std::move(before);
  }
  return found;
}

}  // namespace hotlens::guess
