// The ranks of one training beside each other: clocks, collectives, who waits for whom, and whose delay it was.
//
// A collective is matched across ranks by its group and number, or by group, operation, size and order within the step. It cannot end
// before all have come: what a rank spends in it until then is waiting for the last, and the rest is transferring. Waiting counts while the
// rank does nothing else. The delay of the last is what it did longer than the others (their median) since the last collective of the group
// that all had left; where that is waiting for a rank of another group, the delay is that rank's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/ranks/rank.h"

namespace hotlens::ranks {

// How far a rank's clock is ahead of the first one's, from the ends of the collectives that both took part in.
struct Clock {
  Ns ahead{};             // what its times were corrected by
  Ns spread{};            // how far the estimate may be off; of clocks that agree, how far they may differ
  std::size_t count = 0;  // of collectives; 0: not known
};

// What a rank did longer than the others.
struct Culprit {
  Doing doing;  // `module`, `after`, `before`: into RankSet::modules
  Ns longer{};
  bool known = false;  // false: nothing that took longer explains a quarter of the delay
};

// One collective, as all ranks that are there saw it. Times are of the first rank's clock.
struct Shared {
  std::string operation, group, type;
  std::optional<std::int64_t> sequence, group_size;
  std::optional<Bytes> bytes;
  std::size_t step = 0;                    // position in RankSet::steps
  std::vector<std::uint32_t> rank, which;  // positions in RankSet::ranks, and in their collectives
  std::vector<Ns> waited;                  // by those: exposed
  std::vector<Ns> exposed, hidden;         // of their time in it: without other work beside it, and with
  std::uint32_t last = 0;                  // the rank that came last: position in RankSet::ranks
  Ns first_start{}, last_start{}, end{};   // the first and the last came; all had left
  Ns late{};                               // the last came later than the median of the others
  Ns waited_sum() const;
};

// The rank that others waited for in a step, and why.
struct Late {
  std::size_t step = 0;    // position in RankSet::steps
  std::uint32_t rank = 0;  // position in RankSet::ranks
  Ns waited{};             // by the others in sum
  Ns cost{};               // by the one that waited longest
  Culprit culprit;
};

// What a rank spent in one collective: it waited for the last to come, then it transferred.
struct Stay {
  Ns start{}, came{}, end{};  // `came`: the last, within the stay
};

struct RankTotals {
  std::int64_t rank = 0;
  std::string source;
  std::vector<std::optional<Ns>> wall;    // by step of the set; absent where it did not record that step
  std::vector<std::optional<Ns>> begin;   // of the host's span of each step, of the first rank's clock
  std::vector<Interval> busy;             // it worked, other than by exchanging; of the first rank's clock
  std::vector<Stay> stays;                // by start; likewise
  std::vector<Ns> waiting, transferring;  // the same; waiting exposed, transferring whether exposed or not
  Clock clock;
};

// All steps together.
struct WaitsFor {
  std::uint32_t rank = 0, other = 0;  // positions in RankSet::ranks
  Ns time{};
};

struct RankSet {
  std::vector<RankTotals> ranks;  // by rank
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> steps;  // index of each
  std::vector<Shared> collectives;  // by time
  std::vector<std::string> modules;
  std::vector<WaitsFor> waits;  // the longest first
  std::vector<Late> late;       // by step, the most costly first
  std::vector<Issue> issues;
};

// The rank that is late as a rule: it has most of the waiting, and a share of the steps worth naming.
struct Straggler {
  std::uint32_t rank = 0;    // position in RankSet::ranks
  std::size_t in_steps = 0;  // it is the most costly of them
  Ns cost{};                 // a step, mean: of the one that waits longest
  Ns step{};                 // mean wall time of a step
  Culprit culprit;           // `longer`: a step, mean; what most of the delay is in
};
std::optional<Straggler> straggler(const RankSet& set);

// "forward of layer1.0, before layer1.0.conv2"; "host code before forward".
std::string words_of(const RankSet& set, const Culprit& culprit);

// As nccl-tests define them, in bytes a second, while all take part. Nothing where size or group is not known.
struct Bandwidth {
  double algorithm = 0, bus = 0;
};
std::optional<Bandwidth> bandwidth(const Shared& shared);

// The rank that works longest: a step's wall time less its waiting, mean over the steps it recorded. Nothing for one rank alone.
struct Imbalance {
  std::uint32_t rank = 0;  // position in RankSet::ranks
  Ns own{}, mean{};        // its time, and that of all ranks
  double ratio() const { return mean > Ns{} ? static_cast<double>(own.count()) / static_cast<double>(mean.count()) : 1; }
};
std::optional<Imbalance> imbalance(const RankSet& set);

// Takes the records of different ranks, in any order.
RankSet together(std::vector<RankRecord> records);

}  // namespace hotlens::ranks
