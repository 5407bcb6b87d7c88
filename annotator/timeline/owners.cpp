#include "annotator/timeline/owners.h"

#include <algorithm>
#include <unordered_map>

#include "annotator/timeline/phases.h"

namespace hotlens::timeline {
namespace {

constexpr std::string_view kModuleFrame = "nn.Module: ";

// Walks the nodes of a forest, parents first, and gives each what its own kind says on top of what it inherits.
class Finder {
 public:
  Finder(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map)
      : trace_(trace), forest_(forest), steps_(steps), map_(map), creator_(creators(trace, forest)) {
    owners_.of.resize(forest.size());
    if (map_) call_of_module_.assign(map_->module_parent.size(), kNothing);
  }

  Owners run() {
    for (const std::uint32_t thread : threads_main_first()) walk(forest_.threads[thread]);
    settle_parameters();
    lend_backward_line();
    return std::move(owners_);
  }

 private:
  std::vector<std::uint32_t> threads_main_first() const {
    std::vector<std::uint32_t> order;
    if (steps_.main != kNoNode) order.push_back(steps_.main);
    for (std::uint32_t thread = 0; thread < forest_.threads.size(); ++thread) {
      if (thread != steps_.main) order.push_back(thread);
    }
    return order;
  }

  void walk(const Forest::Thread& thread) {
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      Owner& owner = owners_.of[node];
      if (forest_.parent[node] != kNoNode) owner = owners_.of[forest_.parent[node]];
      switch (forest_.kind[node]) {
        case Kind::stage:
          enter_stage(owner, static_cast<Stage>(forest_.value[node]));
          break;
        case Kind::call:
          enter_call(owner, node);
          break;
        case Kind::frame:
          enter_frame(owner, node);
          break;
        case Kind::line:
          owner.line = owners_.lines.add(owner.line, forest_.value[node], forest_.start[node], false);
          break;
        case Kind::op:
          enter_op(owner, node);
          break;
        case Kind::param:
          parameters_.push_back(node);
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

  static void enter_stage(Owner& owner, Stage stage) {
    owner.stage = stage;
    owner.known = true;
  }

  void enter_call(Owner& owner, std::uint32_t node) {
    const std::uint32_t id = forest_.value[node];
    if (!map_ || id >= map_->module_of_call.size()) return;
    const std::uint32_t module = map_->module_of_call[id];
    if (module == kNothing) return;
    const bool root = owner.call == kNothing || owner.direction == Direction::backward;
    enter_module(owner, module, forest_.start[node], root, map_->role[module]);
    if (owner.direction == Direction::forward && call_of_module_[module] == kNothing) call_of_module_[module] = owner.call;
  }

  void enter_frame(Owner& owner, std::uint32_t node) {
    const std::uint32_t name = forest_.value[node];
    const auto [known, fresh] = frame_modules_.try_emplace(name, static_cast<std::uint32_t>(owners_.frames.size()));
    if (fresh) {
      const std::uint32_t parent = owner.call == kNothing ? kNothing : owners_.calls.value[owner.call];
      const std::string_view text = trace_.names[trace::NameId{name}];
      owners_.frames.push_back({std::string(text.substr(kModuleFrame.size())), parent});
    }
    enter_module(owner, known->second, forest_.start[node], owner.call == kNothing, RootRole::model);
  }

  // `root`: no other module is running, so the call decides the stage.
  void enter_module(Owner& owner, std::uint32_t module, Ns start, bool root, RootRole role) {
    if (owner.direction == Direction::backward) {
      owner.direction = Direction::recompute;
      owner.call = kNothing;
    } else if (root && owner.direction == Direction::forward) {
      enter_stage(owner, role == RootRole::loss ? Stage::loss : Stage::forward);
    }
    owner.call = owners_.calls.add(owner.call, module, start, owner.direction != Direction::forward);
  }

  void enter_op(Owner& owner, std::uint32_t node) {
    const Traits& traits = forest_.traits_at(trace_, node);
    const bool numbered = trace_.events.forward_thread[forest_.event[node]] > 0;
    if (traits.backward || numbered) enter_backward(owner, node, traits.accumulates);
    owner.communicates |= traits.communicates;
  }

  void enter_backward(Owner& owner, std::uint32_t node, bool accumulates) {
    enter_stage(owner, Stage::backward);
    const std::uint32_t creator = creator_[node];
    if (creator != kNoNode) {
      owner.call = owners_.of[creator].call;
      owner.made_line = owners_.of[creator].line;
    } else if (owner.direction != Direction::backward || accumulates) {
      owner.call = kNothing;
      owner.made_line = kNothing;
    }
    owner.direction = Direction::backward;
    owner.accumulates |= accumulates;
  }

  // A parameter's marker lies inside its AccumulateGrad node: the whole node belongs to the parameter's module.
  void settle_parameters() {
    for (const std::uint32_t marker : parameters_) {
      const std::uint32_t id = forest_.value[marker];
      if (!map_ || id >= map_->module_of_param.size()) continue;
      std::uint32_t node = forest_.parent[marker];
      std::uint32_t outermost = kNoNode;
      for (; node != kNoNode; node = forest_.parent[node]) {
        if (forest_.kind[node] == Kind::op && forest_.traits_at(trace_, node).accumulates) outermost = node;
      }
      if (outermost == kNoNode) continue;
      const std::uint32_t call = call_of(map_->module_of_param[id]);
      for (node = outermost; node < forest_.size() && (node == outermost || inside(node, outermost)); ++node) owners_.of[node].call = call;
    }
  }

  bool inside(std::uint32_t node, std::uint32_t ancestor) const {
    while (node != kNoNode && node > ancestor) node = forest_.parent[node];
    return node == ancestor;
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
    for (std::uint32_t stage = main.begin; stage < main.end; ++stage) {
      if (forest_.kind[stage] != Kind::stage || forest_.value[stage] != static_cast<std::uint32_t>(Stage::backward)) continue;
      for (std::uint32_t thread = 0; thread < forest_.threads.size(); ++thread) {
        if (thread != steps_.main) lend_line(forest_.threads[thread], stage);
      }
    }
  }

  void lend_line(const Forest::Thread& thread, std::uint32_t stage) {
    const auto starts = std::span(forest_.start).subspan(thread.begin, thread.end - thread.begin);
    auto node = static_cast<std::uint32_t>(std::ranges::lower_bound(starts, forest_.start[stage]) - starts.begin()) + thread.begin;
    for (; node < thread.end && forest_.start[node] < forest_.end[stage]; ++node) {
      if (owners_.of[node].line == kNothing) owners_.of[node].line = owners_.of[stage].line;
    }
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  const Steps& steps_;
  const ModuleMap* map_;
  std::vector<std::uint32_t> creator_;
  Owners owners_;
  std::vector<std::uint32_t> call_of_module_;
  std::vector<std::uint32_t> parameters_;
  std::unordered_map<std::uint32_t, std::uint32_t> frame_modules_;
};

}  // namespace

std::uint32_t Chains::add(std::uint32_t parent_link, std::uint32_t of, Ns begin, bool is_again) {
  start.push_back(begin);
  again.push_back(is_again);
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

Owners find_owners(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map) {
  Owners owners = Finder(trace, forest, steps, map).run();
  mark_copies(trace, forest, owners);
  mark_criteria(forest, steps, owners);
  fill_phases(forest, steps, owners);
  return owners;
}

Owner between(const Owners& owners, const Owner& parent, const Owner* a, const Owner* b) {
  if (!a || !b || a->stage != b->stage) return parent;
  Owner shared;
  shared.call = owners.calls.common(a->call, b->call);
  shared.line = owners.lines.common(a->line, b->line);
  shared.made_line = owners.lines.common(a->made_line, b->made_line);
  shared.stage = a->stage;
  shared.direction = a->direction == b->direction ? a->direction : parent.direction;
  shared.accumulates = a->accumulates && b->accumulates;
  shared.known = a->known && b->known;
  if (shared.call == kNothing) shared.call = parent.call;
  if (shared.line == kNothing) shared.line = parent.line;
  return shared;
}

}  // namespace hotlens::timeline
