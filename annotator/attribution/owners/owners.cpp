#include "annotator/attribution/owners/owners.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "annotator/attribution/owners/call_tree.h"
#include "annotator/attribution/owners/copies.h"
#include "annotator/attribution/owners/criteria.h"
#include "annotator/attribution/owners/inner_gradients.h"
#include "annotator/attribution/owners/parts.h"
#include "annotator/attribution/owners/phases.h"

namespace hotlens::attribution {
namespace {

constexpr std::string_view kFetchMark = "hotlens.stage#data";
constexpr std::uint32_t kDeepestLines = 1000;  // where Python stops

// Walks the nodes of a forest, parents first, and gives each what its own kind says on top of what it inherits.
class Finder {
 public:
  Finder(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map)
      : trace_(trace), forest_(forest), steps_(steps), map_(map), modules_(find_modules(trace, forest, steps, map)) {
    owners_.of.resize(forest.size());
    owners_.source = modules_.source;
    owners_.lines.deepest = kDeepestLines;
    if (map_) call_of_module_.assign(map_->module_parent.size(), kNothing);
    if (map_) parts_.emplace(*map_, owners_);
    for (std::uint32_t node = 0; node < forest.size(); ++node) {
      if (forest.kind[node] == Kind::line && !is_left_out(node)) executed_.insert(forest.value[node]);
    }
  }

  Owners run() {
    if (!map_ && modules_.source != ModuleSource::none && !tells_creators()) find_by_order();
    for (const std::uint32_t thread : reading_order(trace_, forest_, steps_)) walk(forest_.threads[thread]);
    settle_parameters();
    lend_backward_line();
    if (!map_) tell_callers();
    return std::move(owners_);
  }

 private:
  void walk(const Forest::Thread& thread) {
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      Owner& owner = owners_.of[node];
      if (forest_.parent[node] != kNoNode) owner = owners_.of[forest_.parent[node]];
      if (is_left_out(node)) continue;
      switch (forest_.kind[node]) {
        case Kind::stage:
          if (!trains_inside(node)) enter_stage(owner, static_cast<Stage>(forest_.value[node]));
          break;
        case Kind::call:
        case Kind::frame:
        case Kind::range:
          if (modules_.of[node] != kNothing) enter_module(owner, node, modules_.of[node]);
          break;
        case Kind::line:
          owner.line = owners_.lines.add(owner.line, forest_.value[node], forest_.start[node], false);
          // What runs again makes what the line that asked for it first would have made.
          if (owner.direction == Direction::recompute && owner.made_line != kNothing)
            owner.made_line = owners_.lines.add(owner.made_line, forest_.value[node], forest_.start[node], true);
          break;
        case Kind::rest:
          // A line that is entered anew within the step has both ends in it; one that is not (`main()`) is around all steps.
          if (executed_.contains(forest_.value[node])) {
            owner.line = owners_.lines.add(owner.line, forest_.value[node], forest_.start[node], true);
          }
          break;
        case Kind::op:
          enter_op(owner, node);
          break;
        case Kind::param:
          parameters_.push_back(node);
          break;
        case Kind::part:
          if (parts_) parts_->enter(forest_.value[node], forest_.start[node], owner);
          break;
        case Kind::launch:
          owner.communicates |= forest_.traits_at(trace_, node).communicates;
          break;
        case Kind::step:
        case Kind::none:
          break;
      }
    }
  }

  // Of a step that the recorder tried to map before the one that it kept: its marks have other meanings.
  bool is_left_out(std::uint32_t node) const {
    if (map_ == nullptr || steps_.by != Steps::By::profiler || steps_.spans.empty()) return false;
    return forest_.start[node] < steps_.spans.front().start || forest_.start[node] >= steps_.spans.back().end;
  }

  // What gives the training loop its items, by the recorder's mark, and trains itself (`for loss in train_steps(model)`): no fetch.
  bool trains_inside(std::uint32_t fetch) {
    if (!map_ || !forest_.is_stage(fetch, Stage::data) || trace_.names[trace_.events.name[forest_.event[fetch]]] != kFetchMark)
      return false;
    if (creates_.empty()) {
      creates_.resize(forest_.size());
      for (const std::uint32_t creator : forest_.creator) {
        if (creator != kNoNode) creates_[creator] = true;
      }
    }
    const std::uint32_t after = after_descendants(forest_, fetch, static_cast<std::uint32_t>(forest_.size()));
    for (std::uint32_t node = fetch + 1; node < after; ++node) {
      const bool updates =
          forest_.is_stage(node, Stage::zero_grad) || forest_.is_stage(node, Stage::backward) || forest_.is_stage(node, Stage::optimizer);
      if (updates || creates_[node]) return true;
    }
    return false;
  }

  bool tells_creators() const {
    const auto numbered = [&](std::uint32_t event) { return trace_.events.forward_thread[event] > 0; };
    return std::ranges::any_of(forest_.creator, [](std::uint32_t node) { return node != kNoNode; }) ||
           std::ranges::any_of(forest_.event, numbered);
  }

  void find_by_order() {
    BackwardOrder order = backward_by_order(trace_, forest_, steps_);
    if (order.fit.nodes == 0) return;
    owners_.order = order.fit;
    by_order_ = std::move(order.creator);
  }

  // From the modules that the trace names to a row for each module that calls them.
  void tell_callers() {
    CallTree tree = call_tree(owners_.calls, {});
    for (std::uint32_t row = 0; row < tree.rows.size(); ++row) {
      const CalledModule& called = tree.rows[row];
      const bool instance = modules_.source == ModuleSource::frames;
      owners_.found.push_back({modules_.names[called.module], called.parent, instance ? called.first : row});
    }
    owners_.calls.value = std::move(tree.row_of_call);
  }

  // An update or a fetch inside backward is no part of it.
  static void enter_stage(Owner& owner, Stage stage) {
    const bool leaves_backward =
        owner.direction != Direction::forward && stage != Stage::backward && stage != Stage::loss && stage != Stage::forward;
    if (leaves_backward) {
      owner.call = owner.site = owner.made_line = kNothing;
      owner.direction = Direction::forward;
      owner.accumulates = false;
    }
    if (owner.direction == Direction::forward) owner.stage = stage;
    owner.known = true;
  }

  void enter_module(Owner& owner, std::uint32_t node, std::uint32_t module) {
    // What has not run forward cannot run again: a graph that a compiler made for backward is part of the node that runs it; a module that
    // a custom backward calls works for the module whose backward that is.
    if (map_ && owner.direction == Direction::backward && call_of_module_[module] == kNothing) {
      if (map_->role[module] == RootRole::model) owner.call = owners_.calls.add(owner.call, module, forest_.start[node], false);
      return;
    }
    const bool root = owner.call == kNothing || owner.direction == Direction::backward;
    const bool again = owner.direction == Direction::backward;
    const std::uint32_t first = again ? made_again(owner, module) : kNothing;
    if (again) {
      owner.made_line = first == kNothing ? owner.made_line : line_of_call_[first];
      owner.site = first == kNothing ? kNothing : site_of_call_[first];
      owner.direction = Direction::recompute;
      owner.call = kNothing;
    } else if (root && owner.direction == Direction::forward && owner.stage != Stage::data && owner.stage != Stage::evaluation) {
      const bool loss = map_ && map_->role[module] == RootRole::loss;
      enter_stage(owner, loss ? Stage::loss : Stage::forward);
    }
    owner.call = owners_.calls.add(owner.call, module, forest_.start[node], owner.direction != Direction::forward, first);
    enter_site(owner, node, again);
    line_of_call_.resize(owner.call + std::size_t{1}, kNothing);
    line_of_call_[owner.call] = owner.line;
    site_of_call_.resize(owner.call + std::size_t{1}, kNothing);
    site_of_call_[owner.call] = owner.site;
    if (map_ && owner.direction == Direction::forward && call_of_module_[module] == kNothing) call_of_module_[module] = owner.call;
  }

  // What is computed again counts for the call that asked for it first, unless somebody wrote another one (a custom backward).
  void enter_site(Owner& owner, std::uint32_t node, bool again) {
    if (!map_ || forest_.value[node] >= map_->site_of_call.size()) return;
    const std::uint32_t site = map_->site_of_call[forest_.value[node]];
    if (site == kNothing || (again && owner.site != kNothing && owners_.sites.value[owner.site] == site)) return;
    const std::uint32_t around = again ? kNothing : owner.site;
    owner.site = owners_.sites.add(around, site, forest_.start[node], owner.direction != Direction::forward);
  }

  // The call of the module that runs again; kNothing where that is not known. What runs again is due to the line that made this call, not
  // to the line inside it whose node happens to need a result first.
  std::uint32_t made_again(const Owner& node, std::uint32_t module) const {
    for (std::uint32_t call = node.call; call != kNothing; call = owners_.calls.parent[call]) {
      if (owners_.calls.value[call] == module && call < line_of_call_.size()) return call;
    }
    return kNothing;
  }

  void enter_op(Owner& owner, std::uint32_t node) {
    if (runs_backward(trace_, forest_, node)) enter_backward(owner, node, forest_.traits_at(trace_, node).accumulates);
    owner.communicates |= forest_.traits_at(trace_, node).communicates;
  }

  void enter_backward(Owner& owner, std::uint32_t node, bool accumulates) {
    owner.stage = Stage::backward;
    owner.known = true;
    const std::uint32_t creator = by_order_.empty() ? forest_.creator[node] : by_order_[node];
    if (creator != kNoNode) {
      owner.call = owners_.of[creator].call;
      owner.site = owners_.of[creator].site;
      const Owner& made = owners_.of[creator];
      const bool again = made.direction == Direction::recompute && made.made_line != kNothing;
      owner.made_line = accumulates ? kNothing : again ? made.made_line : made.line;
    } else if (owner.direction != Direction::backward || accumulates) {
      owner.call = owner.site = owner.made_line = kNothing;
    }
    owner.direction = Direction::backward;
    owner.accumulates |= accumulates;
  }

  // A parameter's marker lies inside its AccumulateGrad node: the whole node belongs to the parameter's module.
  void settle_parameters() {
    if (!map_ || parameters_.empty()) return;
    const std::vector<std::uint32_t> around = accumulations();
    std::map<std::uint32_t, std::uint32_t> call_of_accumulation;
    for (const std::uint32_t marker : parameters_) {
      const std::uint32_t id = forest_.value[marker];
      if (id >= map_->module_of_param.size() || around[marker] == kNoNode) continue;
      call_of_accumulation[around[marker]] = call_of(map_->module_of_param[id]);
    }
    for (const auto& [accumulation, call] : call_of_accumulation) {
      const std::uint32_t after = after_descendants(forest_, accumulation, static_cast<std::uint32_t>(forest_.size()));
      for (std::uint32_t node = accumulation; node < after; ++node) {
        if (!owners_.of[node].accumulates) continue;
        owners_.of[node].call = call;
        owners_.of[node].site = call < site_of_call_.size() ? site_of_call_[call] : kNothing;
        owners_.of[node].made_line = call < line_of_call_.size() ? line_of_call_[call] : kNothing;
      }
    }
  }

  // By node: the outermost AccumulateGrad around it; kNoNode where there is none.
  std::vector<std::uint32_t> accumulations() const {
    std::vector<std::uint32_t> around(forest_.size(), kNoNode);
    for (std::uint32_t node = 0; node < forest_.size(); ++node) {
      const std::uint32_t parent = forest_.parent[node];
      if (parent != kNoNode) around[node] = around[parent];
      const bool accumulates = forest_.kind[node] == Kind::op && forest_.traits_at(trace_, node).accumulates;
      if (around[node] == kNoNode && accumulates) around[node] = node;
    }
    return around;
  }

  // A call of the module in this step; where it never ran itself, one made up from the tree.
  std::uint32_t call_of(std::uint32_t module) {
    if (module >= call_of_module_.size()) return kNothing;
    if (call_of_module_[module] == kNothing) {
      const std::uint32_t parent = map_->module_parent[module];
      const std::uint32_t outer = parent == kNothing ? kNothing : call_of(parent);
      call_of_module_[module] = owners_.calls.add(outer, module, Ns{}, true);
    }
    return call_of_module_[module];
  }

  // What a backward thread does runs because of the line that the main thread stands on.
  void lend_backward_line() {
    if (steps_.main == kNoNode) return;
    const Forest::Thread& main = forest_.threads[steps_.main];
    std::vector<std::uint32_t> stages;  // backward on a line, the outermost ones, in order of time
    for (std::uint32_t node = main.begin; node < main.end; ++node) {
      const bool inside = !stages.empty() && forest_.start[node] < forest_.end[stages.back()];
      if (!inside && forest_.is_stage(node, Stage::backward) && owners_.of[node].line != kNothing) stages.push_back(node);
    }
    for (std::uint32_t thread = 0; thread < forest_.threads.size() && !stages.empty(); ++thread) {
      if (thread != steps_.main) lend_lines(forest_.threads[thread], stages);
    }
  }

  void lend_lines(const Forest::Thread& thread, const std::vector<std::uint32_t>& stages) {
    auto stage = stages.begin();
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      if (forest_.start[node] >= forest_.end[*stage]) {
        const auto ends = [&](std::uint32_t at) { return forest_.end[at]; };
        stage = std::ranges::upper_bound(stage, stages.end(), forest_.start[node], {}, ends);
      }
      if (stage == stages.end()) return;
      if (forest_.start[node] >= forest_.start[*stage] && owners_.of[node].line == kNothing)
        owners_.of[node].line = owners_.of[*stage].line;
    }
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  const Steps& steps_;
  const ModuleMap* map_;
  Modules modules_;
  std::unordered_set<std::uint32_t> executed_;  // lines that are entered within the trace
  std::vector<bool> creates_;                   // by node: a backward operator goes back to it; empty until it is asked for
  std::vector<std::uint32_t> by_order_;         // by node: creators, where the trace does not tell them; else empty
  Owners owners_;
  std::optional<Parts> parts_;  // with a map
  std::vector<std::uint32_t> call_of_module_;
  std::vector<std::uint32_t> line_of_call_, site_of_call_;  // by call: the line, the expression that called
  std::vector<std::uint32_t> parameters_;
};

}  // namespace

std::uint32_t Chains::add(std::uint32_t parent_link, std::uint32_t of, Ns begin, bool is_again, std::uint32_t repeated) {
  if (parent_link != kNothing && depth[parent_link] >= deepest) parent_link = parent[parent_link];
  start.push_back(begin);
  again.push_back(is_again);
  repeats.push_back(repeated);
  parent.push_back(parent_link);
  value.push_back(of);
  depth.push_back(parent_link == kNothing ? 1 : depth[parent_link] + 1);
  return static_cast<std::uint32_t>(parent.size() - 1);
}

std::uint32_t Chains::common(std::uint32_t a, std::uint32_t b) const {
  while (a != b) {
    if (a == kNothing || b == kNothing) return kNothing;
    if (depth[a] >= depth[b]) {
      a = parent[a];
    } else {
      b = parent[b];
    }
  }
  return a;
}

std::uint32_t Chains::alike(std::uint32_t a, std::uint32_t b, const std::vector<std::uint32_t>* same) const {
  if (a == kNothing || b == kNothing) return kNothing;
  while (depth[a] > depth[b]) a = parent[a];
  while (depth[b] > depth[a]) b = parent[b];
  const auto number = [&](std::uint32_t link) {
    return same != nullptr && value[link] < same->size() ? (*same)[value[link]] : value[link];
  };
  std::uint32_t result = a;
  for (; a != b; a = parent[a], b = parent[b]) {
    if (number(a) != number(b)) result = parent[a];
  }
  return result;
}

Owners find_owners(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map) {
  Owners owners = Finder(trace, forest, steps, map).run();
  if (map) settle_inner_gradients(forest, steps, owners);
  mark_copies(trace, forest, owners);
  mark_criteria(trace, forest, steps, owners);
  fill_phases(trace, forest, steps, owners);
  return owners;
}

Owner between(const Owners& owners, const Owner& parent, const Owner* a, const Owner* b) {
  if (!a || !b || a->stage != b->stage) return parent;
  Owner shared;
  shared.call = owners.calls.common(a->call, b->call);
  shared.line = owners.lines.common(a->line, b->line);
  shared.made_line = owners.lines.common(a->made_line, b->made_line);
  shared.site = owners.sites.common(a->site, b->site);
  const std::uint32_t inside = owners.calls.common(a->innermost(), b->innermost());
  shared.stage = a->stage;
  shared.direction = a->direction == b->direction ? a->direction : parent.direction;
  shared.accumulates = a->accumulates && b->accumulates;
  shared.known = a->known && b->known;
  if (shared.call == kNothing) shared.call = parent.call;
  if (owners.calls.is_inside(inside, shared.call)) shared.one_of = inside;
  if (shared.site == kNothing) shared.site = parent.site;
  if (shared.line == kNothing) shared.line = parent.line;
  return shared;
}

}  // namespace hotlens::attribution
