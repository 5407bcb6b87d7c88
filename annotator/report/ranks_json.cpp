#include <numeric>

#include "annotator/report/ranks.h"

namespace hotlens::report {
namespace {

using ranks::RankSet;

void culprit(const RankSet& set, const ranks::Culprit& of, JsonText& json) {
  if (!of.known) return;
  const ranks::Doing& doing = of.doing;
  const auto module = [&](std::string_view key, std::uint32_t number) {
    if (number != ranks::kNothing) json.member(key, set.modules[number]);
  };
  json.member("what", ranks::words_of(set, of));
  json.member("longer_ns", of.longer.count());
  if (!doing.between_steps && !doing.communicates) json.member("stage", name(doing.stage));
  if (doing.next != ranks::Stage::other) json.member("before_stage", name(doing.next));
  module("module", doing.module);
  module("after", doing.after);
  module("before", doing.before);
}

void rank(const RankSet& set, const ranks::RankTotals& one, JsonText& json) {
  json.member("rank", one.rank);
  json.member("source", one.source);
  json.member("clock_ahead_ns", one.clock.ahead.count());
  json.member("clock_spread_ns", one.clock.spread.count());
  json.member("clock_collectives", one.clock.count);
  json.array("steps", [&] {
    for (std::size_t step = 0; step < set.steps.size(); ++step) {
      if (!one.wall[step]) continue;
      json.object([&] {
        json.member("index", set.steps[step]);
        json.member("wall_ns", one.wall[step]->count());
        json.member("waiting_ns", one.waiting[step].count());
        json.member("transferring_ns", one.transferring[step].count());
      });
    }
  });
}

void collective(const RankSet& set, const ranks::Shared& one, JsonText& json) {
  json.member("operation", one.operation);
  json.member("group", one.group);
  if (one.sequence) json.member("sequence", *one.sequence);
  json.member("step", set.steps[one.step]);
  if (!one.type.empty()) json.member("type", one.type);
  if (one.bytes) json.member("size_bytes", count(*one.bytes));
  if (one.group_size) json.member("group_size", *one.group_size);
  json.member("ranks", one.rank.size());
  json.member("last", set.ranks[one.last].rank);
  json.member("late_ns", one.late.count());
  json.member("waited_ns", one.waited_sum().count());
  json.member("exposed_ns", std::accumulate(one.exposed.begin(), one.exposed.end(), Ns{}).count());
  json.member("hidden_ns", std::accumulate(one.hidden.begin(), one.hidden.end(), Ns{}).count());
  json.member("transfer_ns", (one.end - one.last_start).count());
  if (const auto rates = ranks::bandwidth(one)) {
    json.member("algorithm_bytes_per_s", rates->algorithm);
    json.member("bus_bytes_per_s", rates->bus);
  }
}

void late(const RankSet& set, const ranks::Late& one, JsonText& json) {
  json.member("step", set.steps[one.step]);
  json.member("rank", set.ranks[one.rank].rank);
  json.member("waited_ns", one.waited.count());
  json.member("cost_ns", one.cost.count());
  culprit(set, one.culprit, json);
}

}  // namespace

void ranks_json(const RankSet& set, JsonText& json) {
  const auto list = [&](std::string_view name, const auto& rows, auto write) {
    json.array(name, [&] {
      for (const auto& row : rows) json.object([&] { write(set, row, json); });
    });
  };
  json.member("sentence", ranks_sentence(set));
  if (set.world_size) json.member("world_size", *set.world_size);
  list("ranks", set.ranks, rank);
  if (const auto straggler = ranks::straggler(set)) {
    json.object("straggler", [&] {
      json.member("rank", set.ranks[straggler->rank].rank);
      json.member("in_steps", straggler->in_steps);
      json.member("cost_ns", straggler->cost.count());
      json.member("step_ns", straggler->step.count());
      culprit(set, straggler->culprit, json);
    });
  }
  if (const auto most = ranks::imbalance(set)) {
    json.object("imbalance", [&] {
      json.member("rank", set.ranks[most->rank].rank);
      json.member("own_ns", most->own.count());
      json.member("mean_ns", most->mean.count());
      json.member("ratio", most->ratio());
    });
  }
  list("late", set.late, late);
  list("waits", set.waits, [](const RankSet& all, const ranks::WaitsFor& one, JsonText& out) {
    out.member("rank", all.ranks[one.rank].rank);
    out.member("for", all.ranks[one.other].rank);
    out.member("ns", one.time.count());
  });
  list("collectives", set.collectives, collective);
  list("issues", set.issues, [](const RankSet&, const Issue& issue, JsonText& out) {
    out.member("code", issue.code);
    out.member("message", issue.message);
    out.member("count", issue.count);
  });
}

}  // namespace hotlens::report
