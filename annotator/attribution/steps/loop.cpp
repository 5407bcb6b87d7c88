#include "annotator/attribution/steps/loop.h"

#include <algorithm>
#include <ranges>
#include <span>

namespace hotlens::attribution {
namespace {

std::optional<Mark::What> mark_of_stage(const Forest& forest, std::uint32_t node) {
  if (forest.is_stage(node, Stage::data)) return Mark::What::data;
  if (forest.is_stage(node, Stage::optimizer)) return Mark::What::update;
  if (forest.is_stage(node, Stage::zero_grad)) return Mark::What::zero_grad;
  return std::nullopt;  // other stages only enclose what we look for
}

bool has_gradients(const trace::Trace& trace, const Forest& forest, std::uint32_t node) {
  return trace.events.sequence[forest.event[node]] != trace::kNone;
}

bool in_forward(const std::vector<Pass>& passes, Ns when) {
  const auto next = std::ranges::upper_bound(passes, when, {}, &Pass::start);
  return next != passes.end() && next->forward <= when;
}

// Before the forward of a pass that tells what it goes back through. After the last pass another forward may begin, cut by the recording's
// end.
bool before_forward(const std::vector<Pass>& passes, Ns when) {
  const auto next = std::ranges::upper_bound(passes, when, {}, &Pass::start);
  return next != passes.end() && next != passes.begin() && next->forward < next->start && when < next->forward;
}

std::span<const Mark> between(const std::vector<Mark>& marks, Ns from, Ns to) {
  const auto begin = std::ranges::lower_bound(marks, from, {}, &Mark::start);
  const auto end = std::ranges::lower_bound(marks, std::max(from, to), {}, &Mark::start);
  return {begin, end};
}

}  // namespace

bool makes_node(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread, std::uint32_t node) {
  const std::int64_t own = trace.events.sequence[forest.event[node]];
  if (own == trace::kNone || runs_backward(trace, forest, node)) return false;
  for (std::uint32_t next = after_descendants(forest, node, thread.end); next < thread.end; ++next) {
    if (forest.kind[next] == Kind::op && has_gradients(trace, forest, next)) {
      return !runs_backward(trace, forest, next) && trace.events.sequence[forest.event[next]] > own;
    }
  }
  return false;
}

bool detaches(const trace::Trace& trace, const Forest& forest, std::uint32_t node) {
  return trace.names[trace.events.name[forest.event[node]]] == "aten::detach";
}

std::vector<Mark> loop_marks(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread,
                             const std::vector<Pass>& passes) {
  std::vector<Mark> marks;
  std::vector<std::uint32_t> plain;  // marks of operators without gradients
  std::vector<std::uint32_t> plain_names;
  std::vector<bool> forward_name(trace.names.size());
  bool any_gradients = false;
  for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
    const std::optional<Mark::What> stage = mark_of_stage(forest, node);
    if (!stage && forest.kind[node] != Kind::op) continue;
    Mark mark{stage.value_or(Mark::What::forward), forest.start[node], forest.end[node], 0};
    if (!stage) {
      const std::uint32_t name = trace.events.name[forest.event[node]].index;
      mark.name = name;
      const bool gradients = has_gradients(trace, forest, node);
      const Traits& traits = forest.traits[name];
      if (runs_backward(trace, forest, node)) {
        mark.what = Mark::What::backward;
      } else if (!gradients) {
        mark.what = Mark::What::plain;
        if (!traits.in_place && !traits.reads_back && !traits.moves) {
          plain.push_back(static_cast<std::uint32_t>(marks.size()));
          plain_names.push_back(name);
        }
      } else if (in_forward(passes, mark.start)) {
        forward_name[name] = true;
      } else if (before_forward(passes, mark.start)) {
        // What takes its result out of the graph belongs to it.
        const bool follows = !marks.empty() && marks.back().what == Mark::What::unused;
        if ((follows && detaches(trace, forest, node)) || makes_node(trace, forest, thread, node)) mark.what = Mark::What::unused;
      }
      any_gradients |= gradients;
    }
    marks.push_back(mark);
    node = after_descendants(forest, node, thread.end) - 1;
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (forward_name[plain_names[i]]) marks[plain[i]].what = Mark::What::evaluation;
  }
  if (!any_gradients) {
    for (Mark& mark : marks) {
      if (mark.what == Mark::What::plain) mark.what = Mark::What::forward;
    }
  }
  return marks;
}

std::optional<Mark> first_mark(const std::vector<Mark>& marks, Mark::What what, Ns from, Ns to) {
  const auto range = between(marks, from, to);
  const auto found = std::ranges::find(range, what, &Mark::what);
  return found == range.end() ? std::nullopt : std::optional(*found);
}

std::optional<Mark> last_mark(const std::vector<Mark>& marks, Mark::What what, Ns from, Ns to) {
  const auto range = between(marks, from, to);
  for (const Mark& mark : std::views::reverse(range)) {
    if (mark.what == what) return mark;
  }
  return std::nullopt;
}

}  // namespace hotlens::attribution
