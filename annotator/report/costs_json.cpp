#include "annotator/report/costs_json.h"

#include <algorithm>
#include <cmath>

namespace hotlens::report {
namespace {

// Amounts are whole numbers; what no recording of a real device holds is cut.
std::int64_t whole(double amount) {
  constexpr double kMost = 9e18;
  return std::llround(std::clamp(amount, 0.0, kMost));
}

void amounts(const profile::FlopsAndBytes& sum, JsonText& json) {
  json.member("flops", whole(sum.flops));
  if (sum.told > Ns{}) json.member("bytes", whole(sum.bytes));
  if (sum.told > Ns{} && sum.told < sum.time) json.member("bytes_known_ns", sum.told.count());
  json.member("ns", sum.time.count());
}

void kind(const CostRow& row, JsonText& json) {
  json.member("work", name(row.work));
  if (!row.type.empty()) json.member("type", row.type);
  json.member("calls", row.calls);
  amounts(row.sum, json);
  json.member("flops_per_s", whole(row.flops_per_s()));
  if (const auto rate = row.bytes_per_s()) json.member("bytes_per_s", whole(*rate));
  if (row.peak) json.member(row.work == kernels::Work::move ? "peak_bytes_per_s" : "peak_flops_per_s", whole(*row.peak));
  if (row.of_peak) json.member("of_peak", *row.of_peak);
}

void one(const profile::OperatorCost& of, const Reached& reached, JsonText& json) {
  json.member("name", of.name);
  json.member("shapes", of.shapes);
  json.member("work", name(of.each.work));
  if (!of.each.type.empty()) json.member("type", of.each.type);
  json.member("calls", of.calls);
  if (of.again > 0) json.member("recomputed_calls", of.again);
  json.member("flops", whole(of.each.flops));  // of one call, as the bytes
  if (of.each.bytes) json.member("bytes", whole(*of.each.bytes));
  json.member("ns", of.time.count());
  if (of.each.flops > 0) json.member("flops_per_s", whole(reached.flops_per_s));
  if (reached.bytes_per_s) json.member("bytes_per_s", whole(*reached.bytes_per_s));
  if (reached.of_roof) json.member("of_roof", *reached.of_roof);
}

void costs(const profile::Profile& profile, const Beside& beside, const CostCard& card, JsonText& json) {
  json.member("coverage", card.coverage);
  json.member("known_ns", profile.costs.known.count());
  json.member("whole_ns", profile.costs.whole.count());
  amounts(card.sum, json);
  if (card.mfu) json.member("mfu", *card.mfu);
  if (!card.why_no_mfu.empty()) json.member("no_mfu", card.why_no_mfu);
  if (!card.misfit.empty()) json.member("misfit", card.misfit);
  if (beside.peaks) {
    json.object("peaks", [&] {
      json.member("name", beside.peaks->name);
      json.member("threads", beside.peaks->threads);
      json.member("measured", beside.peaks->measured);
      if (beside.peaks->published) json.member("published", true);
    });
  }
  json.array("kinds", [&] {
    for (const CostRow& row : card.rows) json.object([&] { kind(row, json); });
  });
  json.array("operators", [&] {
    for (std::size_t at = 0; at < profile.costs.operators.size(); ++at) {
      json.object([&] { one(profile.costs.operators[at], card.reached[at], json); });
    }
  });
}

void launches(const costs::Launches& of, JsonText& json) {
  json.member("kernels", of.kernels);
  json.member("kernels_in_graphs", of.in_graphs);
  json.member("delay_median_ns", of.delay_median.count());
  json.member("delay_p90_ns", of.delay_p90.count());
  json.member("shorter_than_launch", of.shorter);
  json.member("queued_mean", of.queued_mean);
  json.member("queue_empty", of.queue_empty);
  json.member("host_wait_ns", of.host_wait.count());
  json.member("kernel_wait_ns", of.kernel_wait.count());
  json.member("other_wait_ns", of.other_wait.count());
  json.array("copies", [&] {
    for (const costs::Transfers& row : of.transfers) {
      json.object([&] {
        json.member("direction", row.direction);
        if (!row.memory.empty()) json.member("memory", row.memory);
        json.member("calls", row.calls);
        json.member("ns", row.time.count());
        if (const auto rate = row.bytes_per_s()) {
          json.member("bytes", row.bytes);
          json.member("bytes_per_s", whole(*rate));
        }
      });
    }
  });
}

}  // namespace

void costs_json(const profile::Profile& profile, const Beside& beside, const std::optional<CostCard>& card, JsonText& json) {
  if (card) json.object("costs", [&] { costs(profile, beside, *card, json); });
  if (beside.launches) json.object("launches", [&] { launches(*beside.launches, json); });
}

void module_costs_json(const profile::Profile& profile, profile::ModuleId id, const std::optional<CostCard>& card, JsonText& json) {
  const profile::Module& module = profile.at(id);
  if (!card || (module.forward_costs.uses.empty() && module.backward_costs.uses.empty())) return;
  json.object("costs", [&] {
    const auto direction = [&](std::string_view key, const profile::ModuleCosts& costs) {
      json.object(key, [&] {
        amounts(sum(profile.costs, costs.uses), json);
        json.member("whole_ns", costs.whole.count());
      });
    };
    direction("forward", module.forward_costs);
    direction("backward", module.backward_costs);
    const auto found = std::ranges::find(card->headroom, id, &Headroom::module);
    if (found == card->headroom.end()) return;
    json.member("faster_at_most", found->times);
    json.member("saved_at_most_ns", found->saved.count());
  });
}

}  // namespace hotlens::report
