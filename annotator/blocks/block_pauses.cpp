// When nothing of the step is at work: a device that runs nothing, a host that waits for it.
#include <algorithm>
#include <map>
#include <string>

#include "annotator/blocks/block_tree.h"

namespace hotlens::blocks {
namespace {

using Kind = Block::Kind;

// When a device runs nothing at all, from the start of the step to the end of its work.
void find_gaps(Blocks& blocks) {
  const attribution::Account& account = blocks.annotated->account;
  const Ns last = blocks.blocks[kStepBlock].last;
  std::map<std::string, Ns> reached;  // by device
  for (const BlockTrack& track : blocks.tracks) {
    if (track.kind != BlockTrack::Kind::host) reached.try_emplace(track.device, Ns{});
  }
  const auto first = static_cast<std::size_t>(std::ranges::upper_bound(account.reached, blocks.start) - account.reached.begin());
  for (std::size_t at = first; at < account.work.size() && account.work[at].start < blocks.start + last; ++at) {
    const attribution::Work& work = account.work[at];
    const auto covered = reached.find(blocks.annotated->trace.threads[work.stream.index].process);
    if (covered == reached.end()) continue;
    const Ns start = work.start - blocks.start;
    if (start > covered->second) blocks.gaps[covered->first].push_back({covered->second, start});
    covered->second = std::max(covered->second, work.end - blocks.start);
  }
  for (const auto& [device, covered] : reached) {
    if (covered < last) blocks.gaps[device].push_back({covered, last});
  }
}

// Waits are no members of folds, so each is in one group.
void find_waits(Blocks& blocks) {
  blocks.waits.resize(blocks.tracks.size());
  for (const BlockGroup& group : blocks.groups) {
    for (std::uint32_t span = group.begin; span < group.end; ++span) {
      if (blocks.span_kind[span] == Kind::wait) blocks.waits[group.track].push_back(span);
    }
  }
  for (std::vector<std::uint32_t>& waits : blocks.waits) {
    std::ranges::sort(waits, {}, [&](std::uint32_t span) { return blocks.span_start[span]; });
  }
}

}  // namespace

void find_pauses(Blocks& blocks) {
  find_gaps(blocks);
  find_waits(blocks);
}

}  // namespace hotlens::blocks
