#include "annotator/attribution/structure/annotations.h"

#include <algorithm>

namespace hotlens::attribution {
namespace {

// What a node's descendants hold, itself included.
struct Contents {
  bool op = false;       // a forward operator
  bool creates = false;  // one that a backward operator comes from
  bool loop = false;     // backward, or a stage or step of the loop
};

bool belongs_to_loop(const Forest& forest, std::uint32_t node) {
  if (forest.kind[node] == Kind::step) return true;
  return forest.kind[node] == Kind::stage && !forest.is_stage(node, Stage::forward) && !forest.is_stage(node, Stage::loss);
}

class Judge {
 public:
  Judge(const trace::Trace& trace, const Forest& forest) : trace_(trace), forest_(forest), contents_(forest.size()) {
    std::vector<bool> creates(forest.size());
    for (const std::uint32_t node : forest.creator) {
      if (node != kNoNode) creates[node] = true;
    }
    has_backward_ = std::ranges::any_of(forest.creator, [](std::uint32_t node) { return node != kNoNode; });
    for (auto node = static_cast<std::uint32_t>(forest.size()); node-- > 0;) {
      Contents& own = contents_[node];
      if (runs_backward(trace, forest, node)) {
        own = {.op = false, .creates = false, .loop = true};
        backward_.push_back(forest.start[node]);
      } else if (forest.kind[node] == Kind::op) {
        own.op = true;
        own.creates |= creates[node];
      }
      own.loop |= belongs_to_loop(forest, node);
      if (forest.parent[node] == kNoNode) continue;
      Contents& around = contents_[forest.parent[node]];
      around.op |= own.op;
      around.creates |= own.creates;
      around.loop |= own.loop;
    }
    std::ranges::sort(backward_);
  }

  std::vector<bool> judge() const {
    std::vector<bool> keep(forest_.size(), true);
    std::vector<bool> inside(forest_.size());   // of a module or a forward stage
    std::vector<bool> again(forest_.size());    // inside a backward operator
    std::vector<bool> in_loop(forest_.size());  // the innermost stage around it, or itself, is one of the loop
    std::vector<bool> module_name(trace_.names.size());
    for (std::uint32_t node = 0; node < forest_.size(); ++node) {
      const std::uint32_t parent = forest_.parent[node];
      inside[node] = forest_.is_stage(node, Stage::forward) || (parent != kNoNode && inside[parent] && !belongs_to_loop(forest_, node));
      again[node] = runs_backward(trace_, forest_, node) || (parent != kNoNode && again[parent]);
      in_loop[node] = forest_.kind[node] == Kind::stage ? belongs_to_loop(forest_, node) : parent != kNoNode && in_loop[parent];
      if (forest_.kind[node] != Kind::range || again[node]) continue;
      keep[node] = !in_loop[node] && is_module(node, inside[node]);
      if (keep[node]) inside[node] = module_name[forest_.value[node]] = true;
    }
    for (std::uint32_t node = 0; node < forest_.size(); ++node) {
      if (forest_.kind[node] == Kind::range && again[node]) keep[node] = module_name[forest_.value[node]];
    }
    return keep;
  }

 private:
  bool is_module(std::uint32_t node, bool inside) const {
    const Contents& contents = contents_[node];
    if (contents.loop || !contents.op) return false;
    const auto next_backward = std::ranges::lower_bound(backward_, forest_.start[node]);
    if (next_backward != backward_.end() && *next_backward < forest_.end[node]) return false;
    return inside || !has_backward_ || contents.creates;
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  std::vector<Contents> contents_;
  std::vector<Ns> backward_;  // starts, on any thread
  bool has_backward_ = false;
};

}  // namespace

std::vector<bool> modules_among_ranges(const trace::Trace& trace, const Forest& forest) {
  const auto knows_better = [](Kind kind) { return kind == Kind::frame || kind == Kind::call; };
  if (!std::ranges::any_of(forest.kind, knows_better)) return Judge(trace, forest).judge();
  std::vector<bool> keep;
  keep.reserve(forest.size());
  for (const Kind kind : forest.kind) keep.push_back(kind != Kind::range);
  return keep;
}

Forest module_forest(const trace::Trace& trace, bool ranges) {
  Forest forest = nest(trace, ranges);
  const bool has_ranges = std::ranges::find(forest.kind, Kind::range) != forest.kind.end();
  return has_ranges ? pruned(forest, modules_among_ranges(trace, forest)) : forest;
}

}  // namespace hotlens::attribution
