#include "server/features/timeline/range.h"

#include <algorithm>
#include <map>

#include "annotator/profile/build/module_name.h"

namespace hotlens::features {
namespace {

using attribution::Forest;
using attribution::kNoNode;
using attribution::Work;
using blocks::Block;
using blocks::Blocks;
using blocks::kNoBlock;
using profile::Annotated;

struct Range {
  Ns from{}, to{};  // after trace.base

  Ns part_of(Ns start, Ns end) const { return std::max(Ns{}, std::min(end, to) - std::max(start, from)); }
};

// Sums by the name of an event.
class Tally {
 public:
  Tally(const trace::Trace& trace, bool device) : trace_(trace), device_(device), sums_(trace.names.size()) {}

  void add(std::uint32_t event, Ns time) {
    Sum& sum = sums_[trace_.events.name[event].index];
    sum.time += time;
    ++sum.calls;
  }
  void take(std::uint32_t event, Ns time) { sums_[trace_.events.name[event].index].time -= time; }

  // Longest first.
  std::vector<Use> uses() const {
    std::vector<Use> list;
    for (std::uint32_t name = 0; name < sums_.size(); ++name) {
      const Sum& sum = sums_[name];
      if (sum.time > Ns{}) list.push_back({std::string(trace_.names[trace::NameId{name}]), device_, sum.calls, sum.time});
    }
    std::ranges::sort(list, [](const Use& a, const Use& b) { return a.time != b.time ? a.time > b.time : a.name < b.name; });
    return list;
  }

 private:
  struct Sum {
    std::int64_t calls = 0;
    Ns time{};
  };
  const trace::Trace& trace_;
  bool device_;
  std::vector<Sum> sums_;  // by NameId
};

// `counts`: whether a position of the account's work is to be counted. `busy`: the union of what is.
template <class Counts>
std::vector<Use> kernels_in(const Annotated& annotated, const Range& range, Counts counts, Ns& busy) {
  const attribution::Account& account = annotated.account;
  Tally tally(annotated.trace, true);
  Ns covered = range.from;
  auto at = static_cast<std::size_t>(std::ranges::upper_bound(account.reached, range.from) - account.reached.begin());
  for (; at < account.work.size() && account.work[at].start < range.to; ++at) {
    const Work& work = account.work[at];
    const Ns part = range.part_of(work.start, work.end);
    if (part <= Ns{} || !counts(at)) continue;
    tally.add(work.event, part);
    busy += Range{covered, range.to}.part_of(work.start, work.end);
    covered = std::max(covered, work.end);
  }
  return tally.uses();
}

// The operators of one thread, each with its part of the range and the operator directly around it.
template <class Visit>
void visit_operators(const Forest& forest, const Forest::Thread& thread, const Range& range, Visit visit) {
  const std::uint32_t first = first_from(forest, thread, range.from);
  std::vector<std::uint32_t> open;  // those that reach into the range, outermost first
  for (std::uint32_t node = first > thread.begin ? first - 1 : kNoNode; node != kNoNode; node = forest.parent[node]) {
    if (forest.kind[node] == attribution::Kind::op && forest.end[node] > range.from) open.push_back(node);
  }
  std::ranges::reverse(open);
  const auto part = [&](std::uint32_t node) { return range.part_of(forest.start[node], forest.end[node]); };
  for (std::size_t depth = 0; depth < open.size(); ++depth) visit(open[depth], depth == 0 ? kNoNode : open[depth - 1], part(open[depth]));
  for (std::uint32_t node = first; node < thread.end && forest.start[node] < range.to; ++node) {
    if (forest.kind[node] != attribution::Kind::op) continue;
    while (!open.empty() && forest.end[open.back()] <= forest.start[node]) open.pop_back();
    if (part(node) > Ns{}) visit(node, open.empty() ? kNoNode : open.back(), part(node));
    open.push_back(node);
  }
}

// An operator's own time is what its part of the range leaves of the operators directly inside it, whatever these do it for.
template <class Counts>
std::vector<Use> operators_in(const Annotated& annotated, const Range& range, Counts counts) {
  Tally tally(annotated.trace, false);
  const Forest& forest = annotated.forest;
  if (annotated.steps.main == kNoNode || range.from >= range.to) return {};
  for (const Forest::Thread& thread : forest.threads) {
    if (thread.process != forest.threads[annotated.steps.main].process) continue;
    visit_operators(forest, thread, range, [&](std::uint32_t node, std::uint32_t around, Ns part) {
      if (counts(node)) tally.add(forest.event[node], part);
      if (around != kNoNode && counts(around)) tally.take(forest.event[around], part);
    });
  }
  return tally.uses();
}

// Time by the stage and by the innermost module that it belongs to.
class Parts {
 public:
  explicit Parts(const Annotated& annotated) : annotated_(annotated), modules_(profile::names_of_modules(annotated)) {}

  void add(const attribution::Owner& owner, Ns time) {
    stages_[std::string(name(owner.stage))] += time;
    const std::uint32_t module = owner.works_for_module() ? annotated_.owners.calls.value[owner.call] : attribution::kNothing;
    if (module >= modules_.size()) return;
    layers_[modules_[module].path.empty() ? modules_[module].class_name : modules_[module].path] += time;
  }

  static std::vector<RangePart> sorted(const std::map<std::string, Ns>& sums) {
    std::vector<RangePart> parts;
    for (const auto& [name, time] : sums) parts.push_back({name, time});
    std::ranges::stable_sort(parts, std::ranges::greater{}, &RangePart::time);
    return parts;
  }
  std::vector<RangePart> stages() const { return sorted(stages_); }
  std::vector<RangePart> layers() const { return sorted(layers_); }

 private:
  const Annotated& annotated_;
  std::vector<profile::ModuleName> modules_;
  std::map<std::string, Ns> stages_, layers_;
};

// `work`: whether a position of the account's work counts; `node`: whether an operator does.
template <class Counts, class CountsNode>
void divide(const Annotated& annotated, const Range& range, Counts work, CountsNode node, RangeSums& sums) {
  const attribution::Account& account = annotated.account;
  Parts parts(annotated);
  if (range.from >= range.to) return;
  for (const attribution::BusyPiece& piece : attribution::busy_pieces(account.work, account.reached, range.from, range.to)) {
    if (!work(piece.work)) continue;
    parts.add(account.work[piece.work].owner, piece.end - piece.start);
    if (account.work[piece.work].owner.communicates) sums.exposed_communication += piece.end - piece.start;
  }
  if (account.work.empty()) {
    for (const attribution::StepAccount& step : account.steps) {
      for (const attribution::Piece& piece : step.wall) {
        const Ns part = range.part_of(piece.start, piece.end);
        if (part > Ns{} && node(piece.node)) parts.add(piece.owner, part);
      }
    }
  }
  sums.stages = parts.stages();
  sums.layers = parts.layers();
}

// By node: whether it is an operator below the block.
std::vector<bool> operators_below(const Blocks& blocks, std::uint32_t block) {
  std::vector<bool> below(blocks.annotated->forest.size());
  const blocks::BlockIndex::Ranks ranks = blocks.index.ranks[block];
  for (const std::uint32_t at : std::span(blocks.index.by_rank).subspan(ranks.begin, ranks.end - ranks.begin)) {
    if (blocks.blocks[at].kind == Block::Kind::op) below[blocks.blocks[at].id] = true;
  }
  return below;
}

}  // namespace

RangeSums sums_of(const Blocks& blocks, std::uint32_t block, Ns from, Ns to) {
  const Range range{blocks.start + from, blocks.start + to};
  const blocks::BlockIndex& index = blocks.index;
  const auto is_below = [&](std::size_t work) {
    if (work < index.first_work || work - index.first_work >= index.work_block.size()) return false;
    const std::uint32_t at = index.work_block[work - index.first_work];
    return at != kNoBlock && (block == blocks::kStepBlock || index.ranks[block].hold(index.ranks[at].begin));
  };
  const std::vector<bool> below = operators_below(blocks, block);
  RangeSums sums;
  sums.kernels = kernels_in(*blocks.annotated, range, is_below, sums.device);
  sums.operators = operators_in(*blocks.annotated, range, [&](std::uint32_t node) -> bool { return below[node]; });
  const auto is_inside = [&](std::uint32_t node) {
    for (; block != blocks::kStepBlock && node != kNoNode && !below[node];) node = blocks.annotated->forest.parent[node];
    return block == blocks::kStepBlock || node != kNoNode;
  };
  divide(*blocks.annotated, range, is_below, is_inside, sums);
  return sums;
}

RangeSums sums_of(const Annotated& annotated, Ns from, Ns to) {
  const auto all = [](std::size_t) { return true; };
  RangeSums sums;
  sums.kernels = kernels_in(annotated, {from, to}, all, sums.device);
  sums.operators = operators_in(annotated, {from, to}, all);
  divide(annotated, {from, to}, all, all, sums);
  return sums;
}

}  // namespace hotlens::features
