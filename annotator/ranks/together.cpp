#include "annotator/ranks/together.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "annotator/ranks/clocks.h"
#include "annotator/ranks/culprit.h"
#include "annotator/ranks/waits.h"

namespace hotlens::ranks {
namespace {

constexpr int kWorthNaming = 50;  // parts of a step: less waiting is no reason to look for one

std::vector<std::int64_t> steps_of(std::span<const RankRecord> records) {
  std::set<std::int64_t> steps;
  for (const RankRecord& record : records) {
    for (const RankStep& step : record.steps) steps.insert(step.index);
  }
  return {steps.begin(), steps.end()};
}

RankTotals totals_of(const RankRecord& record, const std::vector<std::int64_t>& steps) {
  RankTotals totals{.rank = record.rank, .source = record.source};
  totals.wall.resize(steps.size());
  totals.begin.resize(steps.size());
  totals.waiting.resize(steps.size());
  totals.transferring.resize(steps.size());
  for (const RankStep& step : record.steps) {
    const auto at = std::ranges::lower_bound(steps, step.index) - steps.begin();
    totals.wall[static_cast<std::size_t>(at)] = step.wall;
    totals.begin[static_cast<std::size_t>(at)] = step.start;
  }
  return totals;
}

// What a rank did, on the first one's clock.
void align(const RankRecord& record, RankTotals& totals) {
  const Ns ahead = totals.clock.ahead;
  for (std::optional<Ns>& begin : totals.begin) {
    if (begin) *begin -= ahead;
  }
  for (const Interval& each : record.busy) totals.busy.push_back({each.start - ahead, each.end - ahead});
}

// One table of modules for all; by rank, its modules as numbers into it.
std::vector<std::vector<std::uint32_t>> unite_modules(std::span<const RankRecord> records, std::vector<std::string>& modules) {
  std::map<std::string, std::uint32_t> known;
  std::vector<std::vector<std::uint32_t>> local;
  for (const RankRecord& record : records) {
    std::vector<std::uint32_t>& numbers = local.emplace_back();
    for (const std::string& module : record.modules) {
      const auto [at, fresh] = known.try_emplace(module, static_cast<std::uint32_t>(modules.size()));
      if (fresh) modules.push_back(module);
      numbers.push_back(at->second);
    }
  }
  return local;
}

Ns mean_step(const RankSet& set) {
  Ns sum{};
  std::int64_t count = 0;
  for (const RankTotals& rank : set.ranks) {
    for (const std::optional<Ns>& wall : rank.wall) {
      sum += wall.value_or(Ns{});
      count += wall ? 1 : 0;
    }
  }
  return count > 0 ? sum / count : Ns{};
}

// Each collective that is worth it blames the rank whose delay it was; a step's words are those of its most costly one.
void blame(const Culprits& culprits, RankSet& set) {
  const Ns least = mean_step(set) / kWorthNaming;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Ns> waits;
  std::map<std::pair<std::size_t, std::uint32_t>, Late> late;
  std::map<std::pair<std::size_t, std::uint32_t>, Ns> worst;
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<Ns>> by_waiter;
  for (std::size_t which = 0; which < set.collectives.size(); ++which) {
    const Shared& shared = set.collectives[which];
    const Ns waited = shared.waited_sum(), longest = std::ranges::max(shared.waited);
    const Cause cause = longest >= least ? culprits.of(which) : Cause{.rank = shared.last, .culprit = {}};
    for (std::size_t at = 0; at < shared.rank.size(); ++at) {
      if (shared.rank[at] != cause.rank) waits[{shared.rank[at], cause.rank}] += shared.waited[at];
    }
    if (longest < least) continue;
    const std::pair key{shared.step, cause.rank};
    Late& one = late[key];
    one.step = shared.step;
    one.rank = cause.rank;
    one.waited += waited;
    std::vector<Ns>& waiters = by_waiter[key];
    waiters.resize(set.ranks.size());
    for (std::size_t at = 0; at < shared.rank.size(); ++at) waiters[shared.rank[at]] += shared.waited[at];
    one.cost = std::ranges::max(waiters);
    if (longest > worst[key]) {
      worst[key] = longest;
      one.culprit = cause.culprit;
    }
  }
  for (const auto& [pair, time] : waits) {
    if (time > Ns{}) set.waits.push_back({pair.first, pair.second, time});
  }
  std::ranges::stable_sort(set.waits, std::ranges::greater{}, &WaitsFor::time);
  for (auto& [key, one] : late) set.late.push_back(std::move(one));
  std::ranges::stable_sort(set.late, [](const Late& a, const Late& b) { return std::pair(a.step, -a.cost) < std::pair(b.step, -b.cost); });
}

// The sum over steps of what was said of one doing; the greatest wins.
Culprit common_culprit(const RankSet& set, std::uint32_t rank) {
  std::map<Doing, Ns> sums;
  for (const Late& late : set.late) {
    if (late.rank == rank && late.culprit.known) sums[late.culprit.doing] += late.culprit.longer;
  }
  Culprit most;
  for (const auto& [doing, time] : sums) {
    if (time > most.longer) most = {.doing = doing, .longer = time, .known = true};
  }
  most.longer /= static_cast<std::int64_t>(std::max<std::size_t>(1, set.steps.size()));
  return most;
}

// A process that is not here may have come last.
void note_absent(RankSet& set) {
  std::int64_t collectives = 0, largest = 0, present = 0;
  for (const Shared& shared : set.collectives) {
    const auto here = static_cast<std::int64_t>(shared.rank.size());
    if (shared.group_size.value_or(here) <= here) continue;
    ++collectives;
    if (*shared.group_size > largest) {
      largest = *shared.group_size;
      present = here;
    }
  }
  if (collectives == 0) return;
  set.issues.push_back({"absent-ranks",
                        "collectives with " + std::to_string(present) + " of " + std::to_string(largest) +
                            " processes here: another may have come last, so some of what is called transfer may be waiting",
                        collectives});
}

}  // namespace

Ns Shared::waited_sum() const {
  return std::accumulate(waited.begin(), waited.end(), Ns{});
}

RankSet together(std::vector<RankRecord> records) {
  std::ranges::stable_sort(records, {}, &RankRecord::rank);
  RankSet set;
  set.steps = steps_of(records);
  for (const RankRecord& record : records) {
    set.ranks.push_back(totals_of(record, set.steps));
    set.world_size = std::max(set.world_size, record.world_size);
  }
  set.collectives = matched(records, set.steps, set.issues);
  const std::vector<Clock> found = clocks(records, set.collectives);
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    set.ranks[rank].clock = found[rank];
    align(records[rank], set.ranks[rank]);
  }
  fill_waits(records, set);
  note_absent(set);
  const std::vector<std::vector<std::uint32_t>> local = unite_modules(records, set.modules);
  blame(Culprits(records, set, local), set);
  return set;
}

std::optional<Straggler> straggler(const RankSet& set) {
  std::vector<Straggler> of(set.ranks.size());
  Ns all{};
  for (std::size_t at = 0; at < set.late.size(); ++at) {
    const Late& late = set.late[at];
    of[late.rank].cost += late.cost;
    all += late.cost;
    if (at == 0 || set.late[at - 1].step != late.step) ++of[late.rank].in_steps;
  }
  const auto most = std::ranges::max_element(of, {}, &Straggler::cost);
  if (most == of.end() || most->cost <= Ns{} || most->cost <= all / 2) return std::nullopt;
  const auto steps = static_cast<std::int64_t>(set.steps.size());
  Straggler found = *most;
  found.rank = static_cast<std::uint32_t>(most - of.begin());
  found.cost /= steps;
  found.step = mean_step(set);
  found.culprit = common_culprit(set, found.rank);
  return found;
}

std::optional<Imbalance> imbalance(const RankSet& set) {
  std::vector<Ns> own;
  for (const RankTotals& rank : set.ranks) {
    Ns sum{};
    std::int64_t steps = 0;
    for (std::size_t step = 0; step < rank.wall.size(); ++step) {
      if (!rank.wall[step]) continue;
      sum += *rank.wall[step] - rank.waiting[step];
      ++steps;
    }
    own.push_back(steps > 0 ? sum / steps : Ns{});
  }
  if (own.size() < 2) return std::nullopt;
  const auto longest = std::ranges::max_element(own);
  const Ns mean = std::accumulate(own.begin(), own.end(), Ns{}) / static_cast<std::int64_t>(own.size());
  return Imbalance{static_cast<std::uint32_t>(longest - own.begin()), *longest, mean};
}

std::string words_of(const RankSet& set, const Culprit& culprit) {
  if (!culprit.known) return "nothing it did longer than the others";
  const Doing& doing = culprit.doing;
  const auto module = [&](std::uint32_t number) { return set.modules[number]; };
  if (doing.between_steps) return "what it does between two steps";
  if (doing.communicates) return "its own waiting for others";
  std::string words(name(doing.stage));
  if (doing.stage == Stage::other) {
    words = doing.next == Stage::other ? "host code at the end of the step" : "host code before " + std::string(name(doing.next));
  }
  if (doing.module != kNothing) words += " of " + module(doing.module);
  if (doing.after != kNothing && doing.before != kNothing) {
    words += ", between " + module(doing.after) + " and " + module(doing.before);
  } else if (doing.before != kNothing) {
    words += ", before " + module(doing.before);
  } else if (doing.after != kNothing) {
    words += ", after " + module(doing.after);
  }
  return words;
}

std::optional<Bandwidth> bandwidth(const Shared& shared) {
  const Ns time = shared.end - shared.last_start;
  if (!shared.bytes || !shared.group_size || *shared.group_size < 1 || time <= Ns{}) return std::nullopt;
  const double processes = static_cast<double>(*shared.group_size);
  const double share = (processes - 1) / processes;
  double factor = 1;  // broadcast, reduce
  if (shared.operation == "all_reduce") factor = 2 * share;
  if (shared.operation == "all_gather" || shared.operation == "reduce_scatter" || shared.operation == "all_to_all") factor = share;
  const double algorithm = static_cast<double>(count(*shared.bytes)) * 1e9 / static_cast<double>(time.count());
  return Bandwidth{algorithm, algorithm * factor};
}

}  // namespace hotlens::ranks
