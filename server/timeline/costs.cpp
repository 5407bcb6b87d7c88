// What `details` says of products, convolutions and attention by their unique arguments: rates, and how near they are to the device's roof.
#include <algorithm>

#include "annotator/report/cost_card.h"
#include "server/runs/device_rows.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using profile::CostUse;
using profile::OperatorCost;
using profile::Profile;
using protocol::Json;

constexpr std::size_t kMostCosts = 20;
constexpr std::size_t kMaxText = 200;

std::optional<devices::Row> peaks_of(const Opened& opened) {
  const Profile& profile = opened.profile();
  const profile::Device* device = report::working_device(profile);
  if (device == nullptr || device->name.empty()) return std::nullopt;
  const auto& manifest = opened.annotated().manifest;
  return runs::peaks_of(device->name, !profile.has_device() && manifest ? manifest->threads : 0, runs::process_environment());
}

// Of both directions together, by operator.
std::vector<CostUse> of_module(const Profile& profile, const profile::ModuleCosts& forward, const profile::ModuleCosts& backward) {
  std::vector<CostUse> uses(profile.costs.operators.size());
  for (const profile::ModuleCosts* costs : {&forward, &backward}) {
    for (const CostUse& use : costs->uses) {
      uses[use.at].calls += use.calls;
      uses[use.at].time += use.time;
    }
  }
  for (std::uint32_t at = 0; at < uses.size(); ++at) uses[at].at = at;
  return uses;
}

std::vector<CostUse> of_step(const Profile& profile) {
  std::vector<CostUse> uses;
  for (std::uint32_t at = 0; at < profile.costs.operators.size(); ++at) {
    uses.push_back({.at = at, .calls = profile.costs.operators[at].calls, .time = profile.costs.operators[at].time});
  }
  return uses;
}

Json row_of(const OperatorCost& of, const CostUse& use, const devices::Row* roof) {
  const report::Reached reached = report::reached_by(of.each, use.calls, use.time, roof);
  Json row{{"name", of.name.substr(0, kMaxText)},
           {"shapes", of.shapes},
           {"calls", use.calls},
           {"time", use.time.count()},
           {"flopsPerSecond", reached.flops_per_s}};
  if (!of.each.type.empty()) row["type"] = of.each.type;
  if (reached.bytes_per_s) row["bytesPerSecond"] = *reached.bytes_per_s;
  if (reached.of_roof) row["ofRoof"] = *reached.of_roof;
  return row;
}

}  // namespace

void put_costs(Json& details, const Subject& subject, profile::ModuleId module) {
  const Profile& profile = subject.opened->profile();
  if (subject.step != profile.representative) return;
  std::vector<CostUse> uses =
      module.valid() ? of_module(profile, profile.at(module).forward_costs, profile.at(module).backward_costs) : of_step(profile);
  std::erase_if(uses,
                [&](const CostUse& use) { return use.calls == 0 || profile.costs.operators[use.at].each.work == kernels::Work::move; });
  if (uses.empty()) return;
  std::ranges::stable_sort(uses, std::ranges::greater{}, &CostUse::time);
  const auto peaks = peaks_of(*subject.opened);
  const auto card = report::cost_card(profile, peaks ? &*peaks : nullptr);
  const devices::Row* roof = peaks && card && card->misfit.empty() ? &*peaks : nullptr;
  Json rows = Json::array();
  for (const CostUse& use : uses) {
    if (rows.size() < kMostCosts) rows.push_back(row_of(profile.costs.operators[use.at], use, roof));
  }
  details["costs"] = std::move(rows);
  if (roof) details["roof"] = {{"device", roof->name.substr(0, kMaxText)}, {"published", roof->published}};
}

}  // namespace hotlens::timeline_requests
