#include "server/features/timeline_range.h"

#include <algorithm>

namespace hotlens::features {
namespace {

using profile::Block;
using profile::Blocks;
using profile::kNoBlock;
using Kind = Block::Kind;

struct Range {
  Ns from{}, to{};

  Ns part_of(Ns start, Ns end) const { return std::max(Ns{}, std::min(end, to) - std::max(start, from)); }
};

// Sums by name.
class Tally {
 public:
  Tally(const Blocks& blocks, bool device) : blocks_(blocks), device_(device), sums_(blocks.labels) {}

  void add(std::uint32_t block, Ns time) {
    Sum& sum = sums_[blocks_.blocks[block].label];
    sum.first = std::min(sum.first, block);
    sum.time += time;
    ++sum.calls;
  }
  void take(std::uint32_t block, Ns time) { sums_[blocks_.blocks[block].label].time -= time; }

  std::vector<Use> uses() const {
    std::vector<Use> list;
    for (const Sum& sum : sums_) {
      if (sum.time > Ns{}) list.push_back({profile::name_of(blocks_, sum.first), device_, sum.calls, sum.time});
    }
    std::ranges::sort(list, [](const Use& a, const Use& b) { return a.time != b.time ? a.time > b.time : a.name < b.name; });
    return list;
  }

 private:
  struct Sum {
    std::uint32_t first = kNoBlock;
    std::int64_t calls = 0;
    Ns time{};
  };
  const Blocks& blocks_;
  bool device_;
  std::vector<Sum> sums_;  // by Block::label
};

bool is_below(const Blocks& blocks, std::uint32_t block, std::uint32_t around) {
  return blocks.index.ranks[around].hold(blocks.index.ranks[block].begin);
}

std::vector<Use> kernels_in(const Blocks& blocks, std::uint32_t around, const Range& range, Ns& busy) {
  Tally tally(blocks, true);
  Ns covered = range.from;
  for (const std::uint32_t block : blocks.index.work_block) {
    if (block == kNoBlock) continue;
    const timeline::Work& work = blocks.annotated->account.work[blocks.blocks[block].id];
    const Ns start = work.start - blocks.start, end = work.end - blocks.start;
    if (start >= range.to) break;
    const Ns part = range.part_of(start, end);
    if (part <= Ns{} || (around != profile::kStepBlock && !is_below(blocks, block, around))) continue;
    tally.add(block, part);
    busy += Range{covered, range.to}.part_of(start, end);
    covered = std::max(covered, end);
  }
  return tally.uses();
}

// An operator's own time is what its part of the range leaves of the operators directly inside it.
std::vector<Use> operators_in(const Blocks& blocks, std::uint32_t around, const Range& range) {
  Tally tally(blocks, false);
  const timeline::Forest& forest = blocks.annotated->forest;
  for (const std::uint32_t block : std::span(blocks.index.by_rank).subspan(blocks.index.ranks[around].begin)) {
    if (!is_below(blocks, block, around)) break;
    const Block& of = blocks.blocks[block];
    if (of.kind != Kind::op) continue;
    const Ns part = range.part_of(forest.start[of.id] - blocks.start, forest.end[of.id] - blocks.start);
    if (part <= Ns{}) continue;
    tally.add(block, part);
    const bool folded = blocks.blocks[of.parent].kind == Kind::fold;
    const std::uint32_t outer = folded ? blocks.blocks[of.parent].parent : of.parent;
    if (blocks.blocks[outer].kind == Kind::op && is_below(blocks, outer, around)) tally.take(outer, part);
  }
  return tally.uses();
}

}  // namespace

RangeSums sums_of(const Blocks& blocks, std::uint32_t block, Ns from, Ns to) {
  const Range range{from, to};
  RangeSums sums;
  sums.kernels = kernels_in(blocks, block, range, sums.device);
  sums.operators = operators_in(blocks, block, range);
  for (std::vector<Use>* uses : {&sums.kernels, &sums.operators}) uses->resize(std::min(uses->size(), kMaxKernels));
  return sums;
}

}  // namespace hotlens::features
