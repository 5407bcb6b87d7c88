#include "annotator/ranks/waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "annotator/ranks/clocks.h"

namespace hotlens::ranks {
namespace {

// What is one and the same collective: its group and number, or what it is and which of its like in the step.
using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;

// Position of each of a rank's steps among those of the set.
std::size_t step_of(const RankRecord& record, const Collective& one, const std::vector<std::int64_t>& steps) {
  const auto at = std::ranges::find(steps, record.steps[one.step].index);
  return static_cast<std::size_t>(at - steps.begin());
}

std::vector<Key> keys_of(const RankRecord& record) {
  std::map<Key, std::int64_t> before;
  std::vector<Key> keys;
  for (const Collective& one : record.collectives) {
    if (one.sequence) {
      keys.emplace_back(one.group, one.operation, *one.sequence, -1, -1);
      continue;
    }
    Key like{one.group, one.operation, one.elements.value_or(-1), record.steps[one.step].index, 0};
    std::get<4>(like) = before[like]++;
    keys.push_back(std::move(like));
  }
  return keys;
}

Ns wall(const RankRecord& record, Ns ahead, std::size_t which, bool start) {
  const Collective& one = record.collectives[which];
  return (start ? one.start : one.end) - ahead;
}

// Of an interval, what is outside of all others.
Ns outside(Interval of, std::span<const Interval> others) {
  Ns time = of.end - of.start;
  for (auto at = std::ranges::upper_bound(others, of.start, {}, &Interval::end); at != others.end() && at->start < of.end; ++at) {
    time -= std::min(at->end, of.end) - std::max(at->start, of.start);
  }
  return time;
}

void settle(Shared& shared, std::span<const RankRecord> records, std::span<const RankTotals> ranks) {
  std::vector<Ns> starts;
  for (std::size_t at = 0; at < shared.rank.size(); ++at) {
    const std::uint32_t rank = shared.rank[at];
    const Ns start = wall(records[rank], ranks[rank].clock.ahead, shared.which[at], true);
    shared.end = at == 0 ? wall(records[rank], ranks[rank].clock.ahead, shared.which[at], false)
                         : std::max(shared.end, wall(records[rank], ranks[rank].clock.ahead, shared.which[at], false));
    if (at == 0 || start > shared.last_start) {
      shared.last_start = start;
      shared.last = rank;
    }
    starts.push_back(start);
  }
  std::ranges::sort(starts);
  shared.first_start = starts.front();
  starts.pop_back();
  shared.late = shared.last_start - starts[starts.size() / 2];
}

// The rank's waiting, each instant once, and its transferring.
class Waiting {
 public:
  Waiting(const RankRecord& record, RankTotals& totals) : record_(record), totals_(totals) {}

  // In order of time.
  void add(Shared& shared, std::size_t at) {
    const Collective& own = record_.collectives[shared.which[at]];
    const Ns last = shared.last_start + totals_.clock.ahead;
    // The sender of a broadcast leaves without waiting for anybody.
    const bool leaves_early = own.end < last && !ends_together(shared.operation);
    const Ns until = leaves_early ? own.start : std::clamp(last, own.start, own.end);
    const Ns ahead = totals_.clock.ahead;
    shared.exposed[at] = outside({own.start, own.end}, record_.busy);
    shared.hidden[at] = own.end - own.start - shared.exposed[at];
    totals_.stays.push_back({own.start - ahead, until - ahead, own.end - ahead});
    const Interval waits{std::max(own.start, waited_), until};
    if (waits.end > waits.start) {
      shared.waited[at] = outside(waits, record_.busy);
      totals_.waiting[shared.step] += shared.waited[at];
      waited_ = waits.end;
    }
    const Ns from = std::max(until, transferred_);
    if (own.end <= from || leaves_early) return;
    totals_.transferring[shared.step] += own.end - from;
    transferred_ = own.end;
  }

 private:
  const RankRecord& record_;
  RankTotals& totals_;
  Ns waited_ = Ns::min(), transferred_ = Ns::min();  // up to here it is counted
};

}  // namespace

std::vector<Shared> matched(std::span<const RankRecord> records, const std::vector<std::int64_t>& steps, std::vector<Issue>& issues) {
  std::map<Key, std::size_t> known;
  std::vector<Shared> all;
  for (std::uint32_t rank = 0; rank < records.size(); ++rank) {
    const std::vector<Key> keys = keys_of(records[rank]);
    for (std::uint32_t which = 0; which < keys.size(); ++which) {
      const auto [at, fresh] = known.try_emplace(keys[which], all.size());
      const Collective& one = records[rank].collectives[which];
      if (fresh) {
        all.push_back({.operation = one.operation,
                       .group = one.group,
                       .type = one.type,
                       .sequence = one.sequence,
                       .group_size = one.group_size,
                       .bytes = one.bytes,
                       .step = step_of(records[rank], one, steps)});
      }
      Shared& shared = all[at->second];
      if (!shared.rank.empty() && shared.rank.back() == rank) continue;  // a number that came twice
      shared.rank.push_back(rank);
      shared.which.push_back(which);
    }
  }
  const auto alone = std::erase_if(all, [](const Shared& shared) { return shared.rank.size() < 2; });
  if (alone > 0) {
    issues.push_back(
        {"unmatched-collectives", "collectives of one rank were found in no other; they are left out", static_cast<std::int64_t>(alone)});
  }
  for (Shared& shared : all) {
    for (std::vector<Ns>* times : {&shared.waited, &shared.exposed, &shared.hidden}) times->resize(shared.rank.size());
  }
  return all;
}

void fill_waits(std::span<const RankRecord> records, RankSet& set) {
  for (Shared& shared : set.collectives) settle(shared, records, set.ranks);
  std::ranges::stable_sort(set.collectives, {}, &Shared::first_start);
  std::vector<Waiting> waiting;
  for (std::size_t rank = 0; rank < records.size(); ++rank) waiting.emplace_back(records[rank], set.ranks[rank]);
  for (Shared& shared : set.collectives) {
    for (std::size_t at = 0; at < shared.rank.size(); ++at) waiting[shared.rank[at]].add(shared, at);
  }
  for (RankTotals& rank : set.ranks) std::ranges::stable_sort(rank.stays, {}, &Stay::start);
}

}  // namespace hotlens::ranks
