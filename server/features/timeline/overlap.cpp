#include "server/features/timeline/overlap.h"

#include <algorithm>
#include <map>

namespace hotlens::features {
namespace {

using attribution::Interval;
using blocks::Blocks;

// By device: when communication below the block runs.
std::map<std::string, std::vector<Interval>> communication_below(const Blocks& blocks, std::uint32_t block) {
  std::map<std::string, std::vector<Interval>> devices;
  const blocks::BlockIndex& index = blocks.index;
  for (const std::uint32_t at : blocks.communication) {
    if (!index.ranks[block].hold(index.ranks[at].begin)) continue;
    const blocks::Block& work = blocks.blocks[at];
    const auto stream = blocks.annotated->account.work[work.id].stream;
    std::vector<Interval>& all = devices[blocks.annotated->trace.threads[stream.index].process];
    if (all.empty() || work.first > all.back().end) {
      all.push_back({work.first, work.last});
    } else {
      all.back().end = std::max(all.back().end, work.last);
    }
  }
  return devices;
}

// What of the exchanges lies within the time of the block.
std::vector<Interval> exchanges_within(const Blocks& blocks, std::uint32_t block) {
  const blocks::Block& of = blocks.blocks[block];
  std::vector<Interval> within;
  for (const Interval& each : blocks.exchanges) {
    const Interval part{std::max(each.start, of.first), std::min(each.end, of.last)};
    if (part.start < part.end) within.push_back(part);
  }
  return within;
}

// When the main thread does not wait for an exchange.
std::vector<Interval> beside_waits(const Blocks& blocks) {
  std::vector<Interval> beside;
  Ns reached = Ns::min();
  for (const Interval& wait : blocks.exchange_waits) {
    if (wait.start > reached) beside.push_back({reached, wait.start});
    reached = wait.end;
  }
  beside.push_back({reached, Ns::max()});
  return beside;
}

class Divider {
 public:
  Divider(Ns from, Ns to, Ns pixel) : from_(from), to_(to), painter_(from, to, pixel) {}

  void divide(const Interval& communication, const std::vector<Interval>& other) {
    Ns at = communication.start;
    auto busy = std::ranges::upper_bound(other, at, {}, &Interval::end);
    while (at < communication.end) {
      const bool over = busy == other.end() || busy->start >= communication.end;
      const Ns begin = over ? communication.end : std::max(at, busy->start);
      add(Overlap::Kind::exposed, at, begin);
      at = over ? communication.end : std::min(communication.end, busy->end);
      add(Overlap::Kind::hidden, begin, at);
      if (!over) ++busy;
    }
  }

  Overlap take(std::string device) {
    result_.device = std::move(device);
    result_.busy = painter_.busy();
    result_.rectangles = painter_.take();
    return std::move(result_);
  }

 private:
  void add(Overlap::Kind kind, Ns start, Ns end) {
    if (end <= start) return;
    (kind == Overlap::Kind::exposed ? result_.exposed : result_.hidden) += end - start;
    if (end > from_ && start < to_) painter_.add(static_cast<std::uint32_t>(kind), start, end, false);
  }

  Ns from_, to_;
  Painter painter_;
  Overlap result_;
};

}  // namespace

std::vector<Overlap> overlap_of(const Blocks& blocks, std::uint32_t block, Ns from, Ns to, Ns pixel) {
  static const std::vector<Interval> kNothingElse;
  std::vector<Overlap> result;
  for (const auto& [device, all] : communication_below(blocks, block)) {
    const auto other = blocks.other.find(device);
    Divider divider(from, to, pixel);
    for (const Interval& each : all) divider.divide(each, other == blocks.other.end() ? kNothingElse : other->second);
    result.push_back(divider.take(device));
  }
  if (const std::vector<Interval> exchanges = exchanges_within(blocks, block); !exchanges.empty()) {
    const std::vector<Interval> other = beside_waits(blocks);
    Divider divider(from, to, pixel);
    for (const Interval& each : exchanges) divider.divide(each, other);
    result.push_back(divider.take(""));
  }
  return result;
}

}  // namespace hotlens::features
