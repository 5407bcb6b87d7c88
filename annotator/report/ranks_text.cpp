#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "annotator/report/ranks.h"

namespace hotlens::report {
namespace {

using format::harmless;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;
using ranks::RankSet;

constexpr std::size_t kColumns = 8;  // ranks that stand side by side
constexpr std::size_t kSteps = 12;   // rows of a table
constexpr std::size_t kRanks = 16;
constexpr std::size_t kKinds = 8;
constexpr std::size_t kPairs = 6;
constexpr int kLittle = 50;  // parts of a step: less waiting is none to speak of

std::string rank_name(const RankSet& set, std::uint32_t rank) {
  return "rank " + std::to_string(set.ranks[rank].rank);
}

std::string rate(double bytes_a_second) {
  return readable(Bytes{static_cast<std::int64_t>(bytes_a_second)}) + "/s";
}

Ns sum(const std::vector<Ns>& times) {
  Ns total{};
  for (const Ns time : times) total += time;
  return total;
}

class RanksWriter {
 public:
  RanksWriter(const RankSet& set, const format::Style& style) : set_(set), style_(style) {}

  std::string write() && {
    title("Ranks: " + ranks_sentence(set_));
    totals();
    steps();
    pairs();
    kinds();
    clocks();
    for (const Issue& issue : set_.issues) {
      line("  " + harmless(issue.message) + (issue.count > 1 ? " (" + std::to_string(issue.count) + ")" : ""));
    }
    return std::move(out_) + "\n";
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void title(std::string_view text) { out_.append(style_.bold).append(text).append(style_.off).append("\n"); }
  std::int64_t per_step() const { return static_cast<std::int64_t>(std::max<std::size_t>(1, set_.steps.size())); }

  void totals() {
    line("  " + left("a step, mean", 14) + right("wall", 10) + right("waiting", 10) + right("", 9) + right("transfer", 10) +
         right("its own", 10));
    std::size_t shown = 0;
    for (const ranks::RankTotals& rank : set_.ranks) {
      if (shown++ == kRanks) break;
      const RankMeans one = means(rank);
      line("  " + left("rank " + std::to_string(rank.rank), 14) + right(readable(one.wall), 10) + right(readable(one.waiting), 10) +
           right(percent(one.waiting, one.wall), 9) + right(readable(one.transferring), 10) + right(readable(one.wall - one.waiting), 10));
    }
    if (set_.ranks.size() > kRanks) {
      std::vector<Ns> own;
      for (const ranks::RankTotals& rank : set_.ranks) own.push_back(means(rank).wall - means(rank).waiting);
      std::ranges::sort(own);
      line("  " + std::to_string(set_.ranks.size() - kRanks) + " more ranks; their own time is " + readable(own.front()) + " to " +
           readable(own.back()) + ", median " + readable(own[own.size() / 2]));
    }
    imbalance();
  }

  // Of what the ranks do themselves: waiting hides it, since the others wait for the longest.
  void imbalance() {
    const auto most = ranks::imbalance(set_);
    if (!most) return;
    line("  " + left("imbalance", 14) +
         fmt::format("{} works longest, {} of its own a step, {:.2f} times the mean of {}", rank_name(set_, most->rank),
                     readable(most->own), most->ratio(), readable(most->mean)));
  }

  void steps() {
    const bool few = set_.ranks.size() <= kColumns;
    std::string head = "  " + left("step", 8);
    for (const ranks::RankTotals& rank : set_.ranks) {
      if (few) head += right("rank " + std::to_string(rank.rank), 10);
    }
    line(few ? head : head + right("shortest", 10) + right("longest", 10));
    for (std::size_t step = 0; step < std::min(kSteps, set_.steps.size()); ++step) {
      std::string row = "  " + left(std::to_string(set_.steps[step]), 8);
      std::vector<Ns> walls;
      for (const ranks::RankTotals& rank : set_.ranks) {
        if (rank.wall[step]) walls.push_back(*rank.wall[step]);
        if (few) row += right(rank.wall[step] ? readable(*rank.wall[step]) : "-", 10);
      }
      if (!few && !walls.empty()) row += right(readable(std::ranges::min(walls)), 10) + right(readable(std::ranges::max(walls)), 10);
      line(row + why(step));
    }
    if (set_.steps.size() > kSteps) line("  " + std::to_string(set_.steps.size() - kSteps) + " more steps");
  }

  std::string why(std::size_t step) const {
    const auto late = std::ranges::find(set_.late, step, &ranks::Late::step);
    if (late == set_.late.end()) return {};
    std::string text = "   " + rank_name(set_, late->rank) + " is waited for " + readable(late->cost);
    if (late->culprit.known) text += ": " + harmless(ranks::words_of(set_, late->culprit)) + " +" + readable(late->culprit.longer);
    return text;
  }

  void pairs() {
    if (set_.waits.empty() || set_.ranks.size() == 2) return;
    std::string row = "  who waits for whom, a step:";
    for (std::size_t at = 0; at < std::min(kPairs, set_.waits.size()); ++at) {
      const ranks::WaitsFor& one = set_.waits[at];
      row += (at == 0 ? " " : ", ") + std::to_string(set_.ranks[one.rank].rank) + " for " + std::to_string(set_.ranks[one.other].rank) +
             " " + readable(one.time / per_step());
    }
    line(row);
  }

  // Collectives of one kind: rates are of the median one.
  void kinds() {
    std::map<std::tuple<std::string, std::string, std::int64_t>, std::vector<const ranks::Shared*>> kinds;
    for (const ranks::Shared& one : set_.collectives) {
      kinds[{one.operation, one.group, one.bytes ? count(*one.bytes) : -1}].push_back(&one);
    }
    std::vector<std::vector<const ranks::Shared*>> rows;
    for (auto& [key, row] : kinds) rows.push_back(std::move(row));
    const auto time = [](const std::vector<const ranks::Shared*>& row) {
      Ns total{};
      for (const ranks::Shared* one : row) total += one->end - one->last_start;
      return total;
    };
    std::ranges::stable_sort(rows, std::ranges::greater{}, time);
    if (!rows.empty())
      line("  collectives, a step" + right("transfer", 37) + right("exposed", 10) + right("hidden", 10) + right("algorithm", 14) +
           right("bus", 14));
    for (std::size_t at = 0; at < std::min(kKinds, rows.size()); ++at) kind(rows[at], time(rows[at]));
    if (rows.size() > kKinds) line("    " + std::to_string(rows.size() - kKinds) + " other kinds");
  }

  void kind(std::vector<const ranks::Shared*> all, Ns time) {
    const ranks::Shared& one = *all.front();
    std::string text = "    " + harmless(one.operation) + " ×" +
                       std::to_string(std::max<std::int64_t>(1, static_cast<std::int64_t>(all.size()) / per_step()));
    if (one.bytes) text += " of " + readable(*one.bytes) + (one.type.empty() ? "" : " " + harmless(one.type));
    if (one.group_size) text += ", " + std::to_string(*one.group_size) + " ranks";
    std::ranges::sort(all, {}, [](const ranks::Shared* shared) { return shared->end - shared->last_start; });
    text = left(shortened(text, 48), 48) + right(readable(time / per_step()), 10);
    text += right(readable(a_rank(all, &ranks::Shared::exposed)), 10) + right(readable(a_rank(all, &ranks::Shared::hidden)), 10);
    if (const auto rates = ranks::bandwidth(*all[all.size() / 2])) text += right(rate(rates->algorithm), 14) + right(rate(rates->bus), 14);
    line(text);
  }

  // A step, mean of the ranks that took part.
  Ns a_rank(const std::vector<const ranks::Shared*>& all, std::vector<Ns> ranks::Shared::* times) const {
    Ns sum{};
    for (const ranks::Shared* one : all) {
      const std::vector<Ns>& of = one->*times;
      sum += std::accumulate(of.begin(), of.end(), Ns{}) / static_cast<std::int64_t>(std::max<std::size_t>(1, of.size()));
    }
    return sum / per_step();
  }

  void clocks() {
    std::vector<std::string> ahead;
    Ns spread{};
    std::size_t count = 0;
    for (const ranks::RankTotals& rank : set_.ranks) {
      count = std::max(count, rank.clock.count);
      spread = std::max(spread, rank.clock.spread);
      if (rank.clock.ahead == Ns{}) continue;
      const bool behind = rank.clock.ahead < Ns{};
      ahead.push_back("rank " + std::to_string(rank.rank) + " " + readable(behind ? -rank.clock.ahead : rank.clock.ahead) +
                      (behind ? " behind" : " ahead"));
    }
    if (count == 0) return line("  clocks: not compared, as the recordings share no collective");
    if (ahead.empty())
      return line("  clocks: they agree, within " + readable(spread) + " by the ends of " + std::to_string(count) + " collectives");
    std::string text = "  clocks, by the ends of " + std::to_string(count) + " collectives (±" + readable(spread) + "), corrected:";
    for (std::size_t at = 0; at < std::min(kPairs, ahead.size()); ++at) text += (at == 0 ? " " : ", ") + ahead[at];
    line(ahead.size() > kPairs ? text + " and others" : text);
  }

  const RankSet& set_;
  format::Style style_;
  std::string out_;
};

// "the other 3 wait", "rank 0 waits"
std::string waiters(const RankSet& set, std::uint32_t rank) {
  if (set.ranks.size() > 2) return "the other " + std::to_string(set.ranks.size() - 1) + " wait up to ";
  return rank_name(set, rank == 0 ? 1 : 0) + " waits ";
}

}  // namespace

RankMeans means(const ranks::RankTotals& rank) {
  RankMeans total;
  std::int64_t recorded = 0;
  for (const std::optional<Ns>& wall : rank.wall) {
    total.wall += wall.value_or(Ns{});
    recorded += wall ? 1 : 0;
  }
  recorded = std::max<std::int64_t>(recorded, 1);
  return {total.wall / recorded, sum(rank.waiting) / recorded, sum(rank.transferring) / recorded};
}

std::string ranks_sentence(const RankSet& set) {
  if (set.collectives.empty()) return std::to_string(set.ranks.size()) + " ranks; they share no collective, so nobody's waiting is known";
  const std::optional<ranks::Straggler> late = ranks::straggler(set);
  if (!late && set.late.empty()) return std::to_string(set.ranks.size()) + " ranks; none waits long for another";
  if (!late) {
    Ns cost{};
    for (const ranks::Late& one : set.late) cost += one.cost;
    return "they wait " + readable(cost / static_cast<std::int64_t>(set.steps.size())) +
           " a step for each other, now for one, now for another";
  }
  if (late->cost < late->step / kLittle) return std::to_string(set.ranks.size()) + " ranks; none waits long for another";
  std::string text = waiters(set, late->rank) + readable(late->cost) + " of a step of " + readable(late->step) + " (" +
                     percent(late->cost, late->step) + ") for " + rank_name(set, late->rank);
  if (late->culprit.known) {
    text += "; longer there: " + harmless(ranks::words_of(set, late->culprit)) + ", by " + readable(late->culprit.longer);
  }
  if (set.steps.size() > 1) text += "; in " + std::to_string(late->in_steps) + " of " + std::to_string(set.steps.size()) + " steps";
  return text;
}

std::string ranks_text(const RankSet& set, const format::Style& style) {
  return RanksWriter(set, style).write();
}

std::string ranks_diff_text(const std::optional<RankSet>& before, const std::optional<RankSet>& after) {
  if (!before || !after) return {};
  std::string text = "\nRanks\n  before: " + ranks_sentence(*before) + "\n  after:  " + ranks_sentence(*after) + "\n";
  text += "  " + left("a step, mean", 14) + right("wall", 10) + right("was", 10) + right("waiting", 10) + right("was", 10) + "\n";
  std::size_t shown = 0;
  for (const ranks::RankTotals& rank : after->ranks) {
    const auto old = std::ranges::find(before->ranks, rank.rank, &ranks::RankTotals::rank);
    if (old == before->ranks.end() || shown++ >= kRanks) continue;
    const RankMeans is = means(rank), was = means(*old);
    text += "  " + left("rank " + std::to_string(rank.rank), 14) + right(readable(is.wall), 10) + right(readable(was.wall), 10) +
            right(readable(is.waiting), 10) + right(readable(was.waiting), 10) + "\n";
  }
  return text;
}

}  // namespace hotlens::report
