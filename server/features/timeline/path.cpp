#include "server/features/timeline/path.h"

namespace hotlens::features {
namespace {

using blocks::Blocks;
using blocks::kNoBlock;

bool lies_below(const Blocks& blocks, std::uint32_t block, std::uint32_t inner) {
  if (block == blocks::kStepBlock) return true;
  return inner != kNoBlock && blocks.index.ranks[block].hold(blocks.index.ranks[inner].begin);
}

}  // namespace

PathRow path_row(const Blocks& blocks, std::uint32_t block, Ns from, Ns to, Ns pixel) {
  PathRow row;
  Painter painter(from, to, pixel);
  for (const blocks::PathSpan& span : blocks.path) {
    if (!lies_below(blocks, block, span.block)) continue;
    row.time += span.end - span.start;
    if (span.end > from && span.start < to) painter.add(span.queued ? kNoBlock : span.block, span.start, span.end, false);
  }
  row.busy = painter.busy();
  row.rectangles = painter.take();
  return row;
}

}  // namespace hotlens::features
