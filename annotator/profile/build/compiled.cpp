#include "annotator/profile/build/compiled.h"

#include <algorithm>

#include "annotator/profile/build/regions.h"

namespace hotlens::profile {
namespace {

using attribution::Direction;
using attribution::kNoNode;

// By node: whether it lies in a call of compiled code, or is one.
std::vector<bool> inside(const Annotated& annotated, const Regions& regions) {
  const attribution::Forest& forest = annotated.forest;
  std::vector<bool> found(forest.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    found[node] = (parent != kNoNode && found[parent]) || regions.is_compiled(node);
  }
  return found;
}

void count_host(const Annotated& annotated, const attribution::StepSpan& span, const std::vector<bool>& compiled, Compiled& result) {
  const attribution::Forest& forest = annotated.forest;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    if (!compiled[node] || (parent != kNoNode && compiled[parent])) continue;
    if (forest.start[node] < span.start || forest.start[node] >= span.end) continue;
    const Ns time = std::min(forest.end[node], span.end) - forest.start[node];
    ++result.calls;
    result.wall += time;
    (annotated.owners.of[node].direction == Direction::forward ? result.forward : result.backward) += time;
  }
}

// Of the time in compiled code: what works for a module inside the one that runs the code, and what of that is an estimate.
void count_modules(const Annotated& annotated, const std::vector<attribution::Piece>& pieces, const std::vector<bool>& compiled,
                   Compiled& result) {
  const attribution::Forest& forest = annotated.forest;
  for (const attribution::Piece& piece : pieces) {
    if (piece.lent || piece.node == kNoNode || !compiled[piece.node]) continue;
    std::uint32_t graph = piece.node;
    while (forest.parent[graph] != kNoNode && compiled[forest.parent[graph]]) graph = forest.parent[graph];
    if (piece.owner.call == annotated.owners.of[graph].call) continue;
    result.in_modules += piece.end - piece.start;
    if (piece.owner.split != attribution::kNothing) result.estimated += piece.end - piece.start;
  }
}

Ns device_time(const Annotated& annotated, const attribution::StepAccount& step, const std::vector<bool>& compiled) {
  Ns busy{}, reached = Ns::min();
  for (const std::uint32_t number : step.launched) {
    const attribution::Work& work = annotated.account.work[number];
    if (work.launch == kNoNode || !compiled[work.launch]) continue;
    const Ns from = std::max(work.start, reached);
    busy += std::max(work.end - from, Ns{});
    reached = std::max(reached, work.end);
  }
  return busy;
}

// Compilations that the recorder dates, beside the measured steps: both count from the epoch.
void mark_steps(const Annotated& annotated, CompilationLog& log, const std::vector<std::optional<std::int64_t>>& starts) {
  for (std::size_t at = 0; at < log.compilations.size() && at < starts.size(); ++at) {
    if (!starts[at] || *starts[at] > Ns::max().count() / 1000) continue;
    const Ns start = Ns{*starts[at] * 1000} - annotated.trace.base;
    log.compilations[at].in_step =
        std::ranges::any_of(annotated.steps.spans, [&](const auto& span) { return start >= span.start && start < span.end; });
  }
}

}  // namespace

std::shared_ptr<const Compiled> compiled_code(const Annotated& annotated, std::size_t step) {
  auto result = std::make_shared<Compiled>();
  if (step < annotated.account.steps.size()) {
    const attribution::StepAccount& account = annotated.account.steps[step];
    const Regions regions(annotated);
    const std::vector<bool> compiled = inside(annotated, regions);
    count_host(annotated, account.span, compiled, *result);
    count_modules(annotated, account.wall, compiled, *result);
    for (const auto& worker : account.workers) count_modules(annotated, worker, compiled, *result);
    result->device = device_time(annotated, account, compiled);
    result->regions = regions.of_step(account);
  }
  if (annotated.manifest && annotated.manifest->compiled) {
    result->log = annotated.manifest->compiled;
    mark_steps(annotated, *result->log, annotated.manifest->compilation_starts);
  }
  return result->calls == 0 && result->regions.empty() && !result->log ? nullptr : result;
}

}  // namespace hotlens::profile
