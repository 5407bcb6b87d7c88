// When nothing of the step is at work: a device that runs nothing, or nothing but communication; a host that waits for it.
#include <algorithm>
#include <map>
#include <string>

#include "annotator/attribution/account/exchanges.h"
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

// Of a run without device work: when its process exchanges with others, and when the main thread waits for that.
void find_exchanges(Blocks& blocks) {
  const profile::Annotated& annotated = *blocks.annotated;
  if (!annotated.account.work.empty()) return;
  const attribution::StepAccount& step = annotated.account.steps[blocks.step];
  for (const attribution::Interval& each : attribution::host_exchanges(annotated.trace, annotated.forest, annotated.steps)) {
    const Ns start = std::max(each.start, step.span.start), end = std::min(each.end, step.span.end);
    if (start < end) blocks.exchanges.push_back({start - blocks.start, end - blocks.start});
  }
  for (const attribution::Piece& piece : step.wall) {
    if (piece.bucket != attribution::Bucket::communication) continue;
    blocks.exchange_waits.push_back({piece.start - blocks.start, piece.end - blocks.start});
  }
}

// When a device that communicates does anything else, be it of other steps.
void find_communication(Blocks& blocks) {
  for (std::uint32_t block = 0; block < blocks.blocks.size(); ++block) {
    if (blocks.blocks[block].kind == Kind::communication) blocks.communication.push_back(block);
  }
  if (blocks.communication.empty()) return;
  std::ranges::stable_sort(blocks.communication, {}, [&](std::uint32_t block) { return blocks.blocks[block].first; });
  const attribution::Account& account = blocks.annotated->account;
  const Ns last = blocks.blocks[kStepBlock].last;
  const auto first = static_cast<std::size_t>(std::ranges::upper_bound(account.reached, blocks.start) - account.reached.begin());
  for (std::size_t at = first; at < account.work.size() && account.work[at].start < blocks.start + last; ++at) {
    const attribution::Work& work = account.work[at];
    if (work.owner.communicates || work.end <= work.start) continue;
    std::vector<attribution::Interval>& busy = blocks.other[blocks.annotated->trace.threads[work.stream.index].process];
    const Ns start = work.start - blocks.start, end = work.end - blocks.start;
    if (busy.empty() || start > busy.back().end) {
      busy.push_back({start, end});
    } else {
      busy.back().end = std::max(busy.back().end, end);
    }
  }
}

}  // namespace

void find_pauses(Blocks& blocks) {
  find_communication(blocks);
  find_exchanges(blocks);
  find_gaps(blocks);
  find_waits(blocks);
}

}  // namespace hotlens::blocks
