// The last pass: ranks, names and device times, so that questions about a whole subtree need no walk through it.
#include <algorithm>

#include "annotator/blocks/block_tree.h"

namespace hotlens::blocks {
namespace {

using Kind = Block::Kind;

bool is_fold(const Blocks& blocks, std::uint32_t block) {
  return blocks.blocks[block].kind == Kind::fold;
}

// kNoBlock for the step.
std::uint32_t parent_outside_folds(const Blocks& blocks, std::uint32_t block) {
  const std::uint32_t parent = blocks.blocks[block].parent;
  return parent != kNoBlock && is_fold(blocks, parent) ? blocks.blocks[parent].parent : parent;
}

// Blocks but for folds: these come last.
std::uint32_t unfolded(const Blocks& blocks) {
  return static_cast<std::uint32_t>(blocks.child_of.size() - 1);
}

// Parents come before their children, so sizes follow from the last to the first block, and ranks from the first to the last.
void rank_blocks(Blocks& blocks) {
  const std::uint32_t count = unfolded(blocks);
  std::vector<std::uint32_t> size(count, 1), next(count);
  std::uint32_t late = count;  // where the work of earlier steps begins
  for (std::uint32_t block = count; block-- > 1;) {
    if (blocks.blocks[block].kind == Kind::earlier) {
      late -= size[block];
    } else {
      size[parent_outside_folds(blocks, block)] += size[block];
    }
  }
  BlockIndex& index = blocks.index;
  index.ranks.assign(blocks.blocks.size(), {count, 0});
  index.by_rank.resize(count);
  next[kStepBlock] = 0;
  for (std::uint32_t block = 0; block < count; ++block) {
    const bool earlier = blocks.blocks[block].kind == Kind::earlier;
    std::uint32_t& at = block == kStepBlock ? next[kStepBlock] : earlier ? late : next[parent_outside_folds(blocks, block)];
    const BlockIndex::Ranks ranks{at, at + size[block]};
    at = ranks.end;
    next[block] = ranks.begin + 1;
    index.ranks[block] = ranks;
    index.by_rank[ranks.begin] = block;
    const std::uint32_t parent = blocks.blocks[block].parent;
    if (parent == kNoBlock || !is_fold(blocks, parent)) continue;
    BlockIndex::Ranks& around = index.ranks[parent];
    around = {std::min(around.begin, ranks.begin), std::max(around.end, ranks.end)};
  }
}

bool is_work(Kind kind) {
  return kind == Kind::kernel || kind == Kind::copy || kind == Kind::communication;
}

// Host time without the operators directly inside.
std::vector<Ns> own_times(const Blocks& blocks) {
  std::vector<Ns> own(unfolded(blocks));
  for (std::uint32_t block = 0; block < own.size(); ++block) {
    const Block& of = blocks.blocks[block];
    if (is_work(of.kind)) own[block] = of.device;
    if (of.kind != Kind::op) continue;
    own[block] += of.host;
    const std::uint32_t around = parent_outside_folds(blocks, block);
    if (blocks.blocks[around].kind == Kind::op) own[around] -= of.host;
  }
  return own;
}

void name_blocks(Blocks& blocks) {
  BlockIndex& index = blocks.index;
  const std::vector<Ns> own = own_times(blocks);
  std::vector<std::uint32_t> label_of(blocks.labels + 1);
  for (const std::uint32_t block : index.by_rank) ++label_of[blocks.blocks[block].label + 1];
  for (std::size_t label = 1; label < label_of.size(); ++label) label_of[label] += label_of[label - 1];
  index.name_rank.resize(index.by_rank.size());
  std::vector<std::uint32_t> next = label_of;
  for (std::uint32_t rank = 0; rank < index.by_rank.size(); ++rank) {
    index.name_rank[next[blocks.blocks[index.by_rank[rank]].label]++] = rank;
  }
  const auto kind = [&](std::uint32_t rank) { return blocks.blocks[index.by_rank[rank]].kind; };
  index.name_own.reserve(index.name_rank.size() + 1);
  index.name_own.emplace_back();
  for (std::uint32_t label = 0; label < blocks.labels; ++label) {
    const auto first = index.name_rank.begin() + label_of[label], last = index.name_rank.begin() + label_of[label + 1];
    if (!std::is_sorted(first, last, [&](auto a, auto b) { return kind(a) < kind(b); })) {
      std::stable_sort(first, last, [&](auto a, auto b) { return kind(a) < kind(b); });
    }
    for (auto at = first; at != last; ++at) {
      const Block& block = blocks.blocks[index.by_rank[*at]];
      const auto position = static_cast<std::uint32_t>(at - index.name_rank.begin());
      if (at == first || index.names.back().kind != block.kind) {
        index.names.push_back({.kind = block.kind, .label = label, .begin = position, .end = position});
      }
      BlockIndex::Name& name = index.names.back();
      ++name.end;
      name.host += block.host;
      name.device += block.device;
      index.name_own.push_back(index.name_own.back() + own[index.by_rank[*at]]);
    }
  }
}

// Work lies in order of time, so each block around it knows until when its own device time is counted already.
void count_device(Blocks& blocks) {
  BlockIndex& index = blocks.index;
  std::uint32_t first = kNoBlock, last = 0;
  for (const Block& block : blocks.blocks) {
    if (!is_work(block.kind)) continue;
    first = std::min(first, block.id);
    last = std::max(last, block.id);
  }
  index.device.resize(blocks.blocks.size());
  if (first == kNoBlock) return;
  index.first_work = first;
  index.work_block.assign(last - first + 1, kNoBlock);
  for (std::uint32_t block = 0; block < unfolded(blocks); ++block) {
    if (is_work(blocks.blocks[block].kind)) index.work_block[blocks.blocks[block].id - first] = block;
  }
  std::vector<Ns> covered(blocks.blocks.size(), Ns::min());
  for (const std::uint32_t block : index.work_block) {
    if (block == kNoBlock) continue;
    const attribution::Work& work = blocks.annotated->account.work[blocks.blocks[block].id];
    for (std::uint32_t at = block; at != kNoBlock; at = blocks.blocks[at].parent) {
      const Ns from = std::max(work.start, covered[at]);
      if (work.end > from) index.device[at] += work.end - from;
      covered[at] = std::max(covered[at], work.end);
      if (blocks.blocks[at].kind == Kind::earlier) break;
    }
  }
}

}  // namespace

void index_blocks(Blocks& blocks) {
  rank_blocks(blocks);
  name_blocks(blocks);
  count_device(blocks);
}

const BlockIndex::Name* BlockIndex::named(Block::Kind kind, std::uint32_t label) const {
  const auto at =
      std::ranges::lower_bound(names, std::pair(label, kind), {}, [](const Name& name) { return std::pair(name.label, name.kind); });
  return at != names.end() && at->kind == kind && at->label == label ? &*at : nullptr;
}

std::uint32_t BlockIndex::block_of_work(std::uint32_t work) const {
  if (work < first_work || work - first_work >= work_block.size()) return kNoBlock;
  return work_block[work - first_work];
}

BlockIndex::Sum BlockIndex::sum(const Name& name, Ranks below) const {
  const auto begin = name_rank.begin() + name.begin, end = name_rank.begin() + name.end;
  const auto first = std::lower_bound(begin, end, below.begin), last = std::lower_bound(first, end, below.end);
  const auto from = static_cast<std::size_t>(first - name_rank.begin()), to = static_cast<std::size_t>(last - name_rank.begin());
  return {.first = from == to ? kNoBlock : by_rank[*first], .calls = last - first, .own = name_own[to] - name_own[from]};
}

}  // namespace hotlens::blocks
