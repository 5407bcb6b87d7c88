#include "annotator/attribution/owners/inner_gradients.h"

#include <algorithm>
#include <vector>

namespace hotlens::attribution {
namespace {

// The main thread's outermost backward passes that a line asked for, in order of time.
std::vector<std::uint32_t> passes_on_lines(const Forest& forest, const Forest::Thread& main, const Owners& owners) {
  std::vector<std::uint32_t> passes;
  for (std::uint32_t node = main.begin; node < main.end; ++node) {
    const bool inside = !passes.empty() && forest.start[node] < forest.end[passes.back()];
    if (!inside && forest.is_stage(node, Stage::backward) && owners.of[node].line != kNothing) passes.push_back(node);
  }
  return passes;
}

// The position of the pass that runs at `when`; their number where none does.
std::size_t pass_at(const Forest& forest, const std::vector<std::uint32_t>& passes, Ns when) {
  const auto after = std::ranges::upper_bound(passes, when, {}, [&](std::uint32_t pass) { return forest.start[pass]; });
  if (after == passes.begin()) return passes.size();
  const auto at = static_cast<std::size_t>(after - passes.begin()) - 1;
  return when < forest.end[passes[at]] ? at : passes.size();
}

// By pass: what it computed is differentiated later, or a module's forward asked for it and it gives no parameter a gradient.
std::vector<bool> inner_passes(const Forest& forest, const std::vector<std::uint32_t>& passes, const Owners& owners) {
  std::vector<bool> inner(passes.size()), accumulates(passes.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::size_t own = pass_at(forest, passes, forest.start[node]);
    if (own < passes.size() && forest.kind[node] == Kind::param) accumulates[own] = true;
    const std::uint32_t creator = forest.creator[node];
    if (creator == kNoNode || owners.of[creator].direction != Direction::backward) continue;
    const std::size_t made = pass_at(forest, passes, forest.start[creator]);
    if (made < passes.size() && made != own) inner[made] = true;
  }
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    if (owners.of[passes[pass]].call != kNothing && !accumulates[pass]) inner[pass] = true;
  }
  return inner;
}

}  // namespace

void settle_inner_gradients(const Forest& forest, const Steps& steps, Owners& owners) {
  if (steps.main == kNoNode) return;
  const std::vector<std::uint32_t> passes = passes_on_lines(forest, forest.threads[steps.main], owners);
  const std::vector<bool> inner = inner_passes(forest, passes, owners);
  if (std::ranges::find(inner, true) == inner.end()) return;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::size_t at = pass_at(forest, passes, forest.start[node]);
    Owner& owner = owners.of[node];
    if (at == passes.size() || !inner[at] || owner.direction == Direction::forward) continue;
    const Owner& asks = owners.of[passes[at]];
    const bool shared = owners.lines.common(owner.line, owner.made_line) != kNothing;
    if (!shared || owners.lines.common(owner.line, asks.line) != asks.line) continue;
    owner.made_line = kNothing;
    owner.site = owners.sites.common(owner.site, asks.site);
  }
}

}  // namespace hotlens::attribution
