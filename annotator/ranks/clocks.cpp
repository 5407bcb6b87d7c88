#include "annotator/ranks/clocks.h"

#include <algorithm>
#include <chrono>

namespace hotlens::ranks {
namespace {

// Ends on one machine differ by the time that a thread needs to wake up, by more on a busy one.
constexpr Ns kWakeUp = std::chrono::microseconds(200);
constexpr std::size_t kFew = 8;  // differences: their quartiles say little

Ns quantile(std::vector<Ns>& sorted, std::size_t part, std::size_t of) {
  return sorted[(sorted.size() - 1) * part / of];
}

struct Samples {
  std::vector<Ns> differences;  // of ends
  std::vector<Ns> transfers;    // the shorter of both stays: they may leave that far apart
};

Clock clock_of(Samples& samples) {
  std::vector<Ns>& differences = samples.differences;
  std::ranges::sort(differences);
  std::ranges::sort(samples.transfers);
  const Ns middle = quantile(differences, 1, 2);
  const Ns range = differences.back() - differences.front();
  const Ns half = quantile(differences, 3, 4) - quantile(differences, 1, 4);
  const Ns doubt = std::max({kWakeUp, differences.size() < kFew ? range : half, quantile(samples.transfers, 1, 2)});
  const bool clear = std::max(middle, -middle) > doubt;
  return {.ahead = clear ? middle : Ns{}, .spread = half / 2 + (clear ? Ns{} : std::max(middle, -middle)), .count = differences.size()};
}

}  // namespace

bool ends_together(const std::string& operation) {
  return operation == "all_reduce" || operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all" ||
         operation == "barrier";
}

std::vector<Clock> clocks(std::span<const RankRecord> records, std::span<const Shared> collectives) {
  std::vector<Clock> found(records.size());
  std::vector<bool> known(records.size());
  if (records.empty()) return found;
  known[0] = true;
  for (bool more = true; more;) {
    std::vector<Samples> samples(records.size());
    for (const Shared& shared : collectives) {
      if (!ends_together(shared.operation)) continue;
      std::optional<Ns> reference;  // of the first rank whose clock is known
      Ns stayed{};
      for (std::size_t at = 0; at < shared.rank.size() && !reference; ++at) {
        const std::uint32_t rank = shared.rank[at];
        const Collective& one = records[rank].collectives[shared.which[at]];
        if (known[rank]) reference = one.end - found[rank].ahead;
        stayed = one.end - one.start;
      }
      for (std::size_t at = 0; reference && at < shared.rank.size(); ++at) {
        const std::uint32_t rank = shared.rank[at];
        if (known[rank]) continue;
        const Collective& one = records[rank].collectives[shared.which[at]];
        samples[rank].differences.push_back(one.end - *reference);
        samples[rank].transfers.push_back(std::min(stayed, one.end - one.start));
      }
    }
    more = false;
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
      if (samples[rank].differences.empty()) continue;
      found[rank] = clock_of(samples[rank]);
      known[rank] = more = true;
    }
  }
  return found;
}

}  // namespace hotlens::ranks
