// Between the two passes that make Blocks: the tree and its spans as they were met, then grouped, folded and numbered.
#pragma once

#include <vector>

#include "annotator/blocks/blocks.h"

namespace hotlens::blocks {

// Spans in the order in which they begin on their track, one track after the other; `blocks` in order of first sight, without folds.
struct BlockSpans {
  std::vector<std::uint32_t> block, track;
  std::vector<Ns> start, end;

  std::size_t size() const { return block.size(); }
};

// Fills what Blocks holds beside `blocks` and `tracks`: children, ordinals, folds, groups.
void group_spans(Blocks& blocks, const BlockSpans& spans);

// Fills Blocks::gaps, waits, other and communication, after the groups.
void find_pauses(Blocks& blocks);

// Fills Blocks::index, after group_spans.
void index_blocks(Blocks& blocks);

// Fills Blocks::lifted, after group_spans.
void lift_models(Blocks& blocks);

}  // namespace hotlens::blocks
