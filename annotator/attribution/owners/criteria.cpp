#include "annotator/attribution/owners/criteria.h"

#include <algorithm>
#include <vector>

namespace hotlens::attribution {
namespace {

struct RootCall {
  std::uint32_t node = 0, module = 0;
};

// Calls of the main thread that no other module's call is around, by start.
std::vector<RootCall> root_calls(const Forest& forest, const Forest::Thread& thread, const Owners& owners) {
  std::vector<RootCall> roots;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    if (forest.kind[node] != Kind::frame && forest.kind[node] != Kind::range) continue;
    const Owner& owner = owners.of[node];
    if (owner.call == kNothing || owner.direction != Direction::forward || owners.calls.depth[owner.call] != 1) continue;
    roots.push_back({node, owners.calls.value[owner.call]});
  }
  return roots;
}

// By module: whether gradients accumulate from operators under a root of that module.
std::vector<bool> parameter_owners(const trace::Trace& trace, const Forest& forest, const Owners& owners) {
  std::vector<bool> result(owners.found.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::op || forest.creator[node] == kNoNode || !forest.traits_at(trace, node).accumulates) continue;
    std::uint32_t call = owners.of[forest.creator[node]].call;
    if (call == kNothing) continue;
    while (owners.calls.parent[call] != kNothing) call = owners.calls.parent[call];
    result[owners.calls.value[call]] = true;
  }
  return result;
}

// Without any parameter known: modules that call others stand for the model.
std::vector<bool> with_children(const Owners& owners) {
  std::vector<bool> result(owners.found.size());
  for (const FoundModule& module : owners.found) {
    if (module.parent != kNothing) result[module.parent] = true;
  }
  return result;
}

bool says_loss(const FoundModule& module) {
  const Meaning meaning = meaning_of_range(module.name);
  return meaning.kind == Kind::stage && meaning.value == static_cast<std::uint32_t>(Stage::loss);
}

void make_loss(const Forest& forest, std::uint32_t root, std::uint32_t end, Owners& owners) {
  const std::uint32_t after = after_descendants(forest, root, end);
  for (std::uint32_t node = root; node < after; ++node) {
    if (owners.of[node].stage == Stage::forward) owners.of[node].stage = Stage::loss;
  }
}

}  // namespace

void mark_criteria(const trace::Trace& trace, const Forest& forest, const Steps& steps, Owners& owners) {
  if (owners.found.empty() || steps.main == kNoNode) return;
  const Forest::Thread& main = forest.threads[steps.main];
  const std::vector<RootCall> roots = root_calls(forest, main, owners);
  std::vector<bool> is_model = parameter_owners(trace, forest, owners);
  if (std::ranges::find(is_model, true) == is_model.end()) is_model = with_children(owners);
  auto root = roots.begin();
  for (const Pass& pass : steps.passes) {
    const auto first = root;
    while (root != roots.end() && forest.start[root->node] < pass.start) ++root;
    auto after_model = root;
    while (after_model != first && !is_model[(after_model - 1)->module]) --after_model;
    if (after_model == first) continue;  // no model before this pass
    for (; after_model != root; ++after_model) make_loss(forest, after_model->node, main.end, owners);
  }
  std::vector<bool> loss;
  loss.reserve(owners.found.size());
  for (const FoundModule& module : owners.found) loss.push_back(says_loss(module));
  for (const RootCall& call : roots) {
    if (loss[call.module]) make_loss(forest, call.node, main.end, owners);
  }
}

}  // namespace hotlens::attribution
