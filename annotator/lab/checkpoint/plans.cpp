#include "annotator/lab/checkpoint/plans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "annotator/profile/spread.h"

namespace hotlens::lab {
namespace {

// Processor time with torch 2.13 on one core of an AMD EPYC, of a transformer's layer, a residual block and a convolution with its batch
// norm, each so small that operators take little: the checkpointed step less the plain one and a forward pass (30 to 44 µs a tensor).
constexpr Ns kPythonOfBlock{150'000}, kPythonOfTensor{32'000};

constexpr std::int64_t kTimes = 1024;          // differences of time below this part of all second runs are noise
constexpr std::size_t kMostPartial = 4'000;    // choices for the same blocks that are followed; beyond, bytes are rounded up
constexpr std::int64_t kFirstRounding = 1024;  // bytes

// Blocks from one to the last: what they need above what was held when the first of them began.
struct Partial {
  std::int64_t most = 0;  // on the way
  std::int64_t left = 0;  // when their backward passes are done
  Ns again{};
  Choice reversed;  // the last block first
};

bool no_worse(const Partial& one, const Partial& other) {
  return one.again <= other.again && one.most <= other.most && one.left <= other.left;
}

std::int64_t rounded_up(std::int64_t number, std::int64_t to) {
  const std::int64_t rest = ((number % to) + to) % to;
  return rest == 0 ? number : number + to - rest;
}

std::vector<Partial> without_worse(std::vector<Partial> all) {
  std::ranges::sort(all, {}, [](const Partial& one) { return std::tuple(one.again, one.most, one.left); });
  std::vector<Partial> kept;
  for (Partial& one : all) {
    if (std::ranges::none_of(kept, [&](const Partial& better) { return no_worse(better, one); })) kept.push_back(std::move(one));
  }
  return kept;
}

std::vector<Partial> bounded(std::vector<Partial> all) {
  all = without_worse(std::move(all));
  for (std::int64_t to = kFirstRounding; all.size() > kMostPartial; to *= 2) {
    for (Partial& one : all) {
      one.most = rounded_up(one.most, to);
      one.left = rounded_up(one.left, to);
    }
    all = without_worse(std::move(all));
  }
  return all;
}

Partial with_block(const Partial& later, const BlockCosts& block, bool before, bool itself) {
  const Pass &forward = block.forward.at(before).at(itself), &backward = block.backward.at(before).at(itself);
  const std::int64_t then = forward.net + later.left;  // when its backward pass begins
  Partial made{.most = std::max({forward.rise, forward.net + later.most, then + backward.rise}),
               .left = then + backward.net,
               .again = later.again + (itself ? block.again : Ns{}),
               .reversed = later.reversed};
  made.reversed.push_back(itself);
  return made;
}

Plan finished(const StepCosts& costs, const Partial& all) {
  const std::int64_t inside = costs.before.net + all.most, after = costs.before.net + all.left + costs.after.rise;
  return {.checkpointed = Choice(all.reversed.rbegin(), all.reversed.rend()),
          .peak = costs.start + std::max({costs.before.rise, inside, after}),
          .again = all.again};
}

// Passes in the order of the step; nullopt where they came in another one.
struct Line {
  Pass before, after;
  std::vector<Pass> forward, backward;  // by block
};

std::optional<Line> line_of(const std::vector<BlockSegment>& segments, std::size_t blocks) {
  if (segments.size() != 2 * blocks + 2) return std::nullopt;
  const auto pass = [&](std::size_t at) { return Pass{.net = count(segments[at].net), .rise = count(segments[at].rise)}; };
  Line line{.before = pass(0), .after = pass(2 * blocks + 1), .forward = {}, .backward = std::vector<Pass>(blocks)};
  for (std::size_t at = 0; at < blocks; ++at) {
    const BlockSegment &forward = segments[1 + at], &backward = segments[2 * blocks - at];
    const auto number = static_cast<std::int64_t>(at);
    if (forward.block != number || forward.backward || backward.block != number || !backward.backward) return std::nullopt;
    line.forward.push_back(pass(1 + at));
    line.backward[at] = pass(2 * blocks - at);
  }
  return line;
}

// Blocks that keep the same bytes are of one kind: what their times differ by is noise.
void even_out(std::vector<BlockCosts>& blocks) {
  const auto kept = [](const BlockCosts& block) {
    const auto& itself = block.forward[0];
    return std::tuple(itself[0].net - itself[1].net, itself[1].rise - itself[1].net);
  };
  std::map<std::tuple<std::int64_t, std::int64_t>, std::vector<BlockCosts*>> kinds;
  for (BlockCosts& block : blocks) kinds[kept(block)].push_back(&block);
  for (const auto& [bytes, same] : kinds) {
    Ns all{};
    for (const BlockCosts* block : same) all += block->again;
    for (BlockCosts* block : same) block->again = all / static_cast<std::int64_t>(same.size());
  }
}

}  // namespace

std::vector<Choice> samples(std::size_t blocks) {
  std::vector<Choice> all{Choice(blocks, false), Choice(blocks, true)};
  if (blocks < 2) return all;
  for (const std::size_t first : {0, 1}) {
    Choice& some = all.emplace_back(blocks, false);
    for (std::size_t at = first; at < blocks; at += 2) some[at] = true;
  }
  return all;
}

std::expected<StepCosts, std::string> costs_of(const std::vector<Replays>& replayed, std::size_t blocks) {
  const std::vector<Choice> choices = samples(blocks);
  StepCosts costs{.blocks = std::vector<BlockCosts>(blocks)};
  Ns all{};
  for (std::size_t at = 0; at < choices.size(); ++at) {
    const auto line = line_of(replayed.at(at).segments, blocks);
    if (!line) return std::unexpected("the backward passes of its blocks do not come one by one, the last block first");
    if (at == 0) {
      costs.start = count(replayed[at].start);
      costs.before = line->before;
      costs.after = line->after;
    }
    for (std::size_t block = 0; block < blocks; ++block) {
      const bool before = block > 0 && choices[at][block - 1];
      costs.blocks[block].forward.at(before).at(choices[at][block]) = line->forward[block];
      costs.blocks[block].backward.at(before).at(choices[at][block]) = line->backward[block];
    }
  }
  for (const auto& [block, runs] : replayed.at(1).again) {
    if (block < 0 || static_cast<std::size_t>(block) >= blocks || runs.took.empty()) continue;
    costs.blocks[static_cast<std::size_t>(block)].again = profile::sample(runs.took).median + python_of({{block, runs}});
    all += costs.blocks[static_cast<std::size_t>(block)].again;
  }
  even_out(costs.blocks);
  const std::int64_t grain = all.count() / kTimes + 1;
  for (BlockCosts& block : costs.blocks) block.again = Ns{rounded_up(block.again.count(), grain)};
  return costs;
}

Plan plan_of(const StepCosts& costs, const Choice& checkpointed) {
  Partial all;
  for (std::size_t at = checkpointed.size(); at-- > 0;) {
    all = with_block(all, costs.blocks[at], at > 0 && checkpointed[at - 1], checkpointed[at]);
  }
  return finished(costs, all);
}

std::vector<Plan> best_plans(const StepCosts& costs) {
  std::array<std::vector<Partial>, 2> later{{{Partial{}}, {Partial{}}}};  // by whether the block before is checkpointed
  for (std::size_t at = costs.blocks.size(); at-- > 0;) {
    std::array<std::vector<Partial>, 2> now;
    for (const bool before : {false, true}) {
      if (at == 0 && before) continue;
      for (const bool itself : {false, true}) {
        for (const Partial& one : later.at(itself)) now.at(before).push_back(with_block(one, costs.blocks[at], before, itself));
      }
      now.at(before) = bounded(std::move(now.at(before)));
    }
    later = std::move(now);
  }
  std::vector<Plan> plans, best;
  for (const Partial& one : later[0]) plans.push_back(plan_of(costs, finished(costs, one).checkpointed));
  std::ranges::sort(plans, {}, [](const Plan& one) { return std::tuple(one.again, one.peak); });
  for (Plan& plan : plans) {
    if (best.empty() || plan.peak < best.back().peak) best.push_back(std::move(plan));
  }
  return best;
}

Replays without_second_runs(const Replays& replayed) {
  Replays rest = replayed;
  for (const auto& [block, runs] : replayed.again) {
    for (std::size_t at = 0; at < std::min(rest.times.size(), runs.took.size()); ++at) rest.times[at] -= runs.took[at];
  }
  return rest;
}

Ns python_of(const std::map<std::int64_t, SecondRuns>& again) {
  Ns sum{};
  for (const auto& [block, runs] : again) sum += kPythonOfBlock + runs.saved * kPythonOfTensor;
  return sum;
}

bool peak_is_in_update(const StepCosts& costs, const Choice& checkpointed) {
  StepCosts without = costs;
  without.after = {};
  return plan_of(without, checkpointed).peak < plan_of(costs, checkpointed).peak;
}

}  // namespace hotlens::lab
