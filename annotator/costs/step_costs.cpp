#include "annotator/costs/step_costs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "annotator/attribution/owners/stack.h"
#include "annotator/common/compact_list.h"
#include "annotator/kernels/kernel_name.h"

namespace hotlens::costs {
namespace {

using attribution::Direction;
using attribution::kNoNode;
using attribution::Owner;
using attribution::Piece;
using attribution::Work;
using profile::CostUse;

constexpr std::size_t kLongestShapes = 200;  // lists of an optimizer are longer, and nobody reads them

class Collector {
 public:
  explicit Collector(const CostInput& input)
      : input_(input),
        step_(input.account.steps[input.step]),
        finder_(input.trace, input.forest, input.given),
        stack_(input.owners.calls, input.module_parent.size(), &input.module_parent) {
    result_.forward.resize(input.module_parent.size());
    result_.backward.resize(input.module_parent.size());
  }

  Costs run() && {
    if (input_.account.work.empty()) {
      on_host();
    } else {
      for (const std::uint32_t at : step_.launched) count(input_.account.work[at]);
    }
    gather();
    return std::move(result_);
  }

 private:
  // Of one operator that ran.
  struct Run {
    std::uint32_t node = kNoNode;
    Ns time{};
  };

  std::vector<profile::ModuleCosts>& modules(const Owner& owner) {
    return owner.direction == Direction::forward ? result_.forward : result_.backward;
  }

  void add_whole(const Owner& owner, Ns time) {
    result_.step.whole += time;
    for (const std::uint32_t module : modules_of(owner, stack_)) modules(owner)[module].whole += time;
  }

  void add(std::uint32_t found, Ns time) {
    if (runs_.empty() || runs_.back().node != found) runs_.push_back({found, {}});
    runs_.back().time += time;
    result_.step.known += time;
  }

  void count(const Work& work) {
    if (work.owner.communicates) return;
    const Ns time = work.end - work.start;
    add_whole(work.owner, time);
    const trace::Category category = input_.trace.events.category[work.event];
    const bool transfers = category == trace::Category::copy && !name(work.event).contains("DtoD");
    const std::uint32_t found = work.launch == kNoNode || transfers ? kNoNode : finder_.operator_of(work.launch);
    if (found != kNoNode) {
      add(found, time);
    } else if (category == trace::Category::copy || category == trace::Category::fill) {
      result_.step.known += time;
    }
  }

  void on_host() {
    std::vector<const Piece*> pieces;
    const auto gather_pieces = [&](const std::vector<Piece>& from) {
      for (const Piece& piece : from) {
        const bool inside = piece.node != kNoNode && input_.forest.kind[piece.node] == attribution::Kind::op;
        if (inside && !piece.lent && !piece.owner.communicates) pieces.push_back(&piece);
      }
    };
    gather_pieces(step_.wall);
    for (const std::vector<Piece>& worker : step_.workers) gather_pieces(worker);
    std::vector<bool> around(input_.forest.size());  // by node: an operator with a cost lies inside
    for (const Piece* piece : pieces) {
      const std::uint32_t found = finder_.operator_of(piece->node);
      for (std::uint32_t node = found; node != kNoNode && !around[node]; node = input_.forest.parent[node]) around[node] = true;
    }
    for (const Piece* piece : pieces) {
      const Ns time = piece->end - piece->start;
      add_whole(piece->owner, time);
      const std::uint32_t found = finder_.operator_of(piece->node);
      if (found != kNoNode) {
        add(found, time);
      } else if (around[piece->node] || is_view(piece->node)) {
        result_.step.known += time;
      }
    }
  }

  std::string_view name(std::uint32_t event) const { return input_.trace.names[input_.trace.events.name[event]]; }

  bool is_view(std::uint32_t node) {
    const trace::NameId id = input_.trace.events.name[input_.forest.event[node]];
    if (views_.empty()) views_.resize(input_.trace.names.size());
    std::optional<bool>& view = views_[id.index];
    if (!view) view = kernels::operator_name(input_.trace.names[id]).family == kernels::Family::view;
    return *view;
  }

  // Runs of one operator become one, then operators of one kind: a module's sum for the kind at hand is its last one.
  void gather() {
    std::ranges::stable_sort(runs_, {}, &Run::node);
    std::vector<CostUse> kinds(finder_.kinds().size());
    std::vector<std::int64_t> again(kinds.size());
    std::size_t kept = 0;
    for (std::size_t at = 0; at < runs_.size(); ++kept) {
      Run run{runs_[at].node, {}};
      for (; at < runs_.size() && runs_[at].node == run.node; ++at) run.time += runs_[at].time;
      CostUse& kind = kinds[finder_.kind_of(run.node)];
      kind.calls += 1;
      kind.time += run.time;
      again[finder_.kind_of(run.node)] += input_.owners.of[run.node].direction == Direction::recompute;
      runs_[kept] = run;
    }
    runs_.resize(kept);
    const std::vector<std::uint32_t> place = table(kinds, again);
    std::ranges::stable_sort(runs_, {}, [&](const Run& run) { return place[finder_.kind_of(run.node)]; });
    for (const Run& run : runs_) {
      const Owner& owner = input_.owners.of[run.node];
      const std::uint32_t at = place[finder_.kind_of(run.node)];
      for (const std::uint32_t module : modules_of(owner, stack_)) {
        std::vector<CostUse>& uses = modules(owner)[module].uses;
        if (uses.empty() || uses.back().at != at) uses.push_back({.at = at});
        uses.back().calls += 1;
        uses.back().time += run.time;
      }
    }
  }

  // Fills the table of operators, longest first; where each kind lies in it.
  std::vector<std::uint32_t> table(const std::vector<CostUse>& kinds, const std::vector<std::int64_t>& again) {
    std::vector<std::uint32_t> order(kinds.size()), place(kinds.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return kinds[a].time > kinds[b].time; });
    for (const std::uint32_t kind : order) {
      if (kinds[kind].calls == 0) continue;
      place[kind] = static_cast<std::uint32_t>(result_.step.operators.size());
      const Finder::Kind& known = finder_.kinds()[kind];
      const std::string shapes = compact_list(finder_.shapes(known.example));
      result_.step.operators.push_back({.name = std::string(name(input_.forest.event[known.example])),
                                        .shapes = shapes.size() > kLongestShapes ? shapes.substr(0, kLongestShapes) + "…" : shapes,
                                        .each = known.cost,
                                        .calls = kinds[kind].calls,
                                        .again = again[kind],
                                        .time = kinds[kind].time});
    }
    return place;
  }

  const CostInput& input_;
  const attribution::StepAccount& step_;
  Finder finder_;
  attribution::Stack stack_;
  Costs result_;
  std::vector<Run> runs_;
  std::vector<std::optional<bool>> views_;  // by name
};

}  // namespace

Costs step_costs(const CostInput& input) {
  if (input.account.steps.empty() || input.given.inputs.size() == 0) {
    return {.step = {},
            .forward = std::vector<profile::ModuleCosts>(input.module_parent.size()),
            .backward = std::vector<profile::ModuleCosts>(input.module_parent.size())};
  }
  return Collector(input).run();
}

}  // namespace hotlens::costs
