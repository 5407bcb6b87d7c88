#include "annotator/report/cost_card.h"

#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/devices/roof.h"
#include "annotator/common/format.h"

namespace hotlens::report {
namespace {

using profile::CostUse;
using profile::OperatorCost;

constexpr std::size_t kShortest = 1000;  // ns: of an operator; clocks of traces up to torch 2.3 are whole microseconds

double seconds(Ns time) {
  return static_cast<double>(time.count()) / 1e9;
}

double rate(double amount, Ns time) {
  return time > Ns{} ? amount / seconds(time) : 0;
}

std::vector<CostRow> rows_of(const profile::StepCosts& costs) {
  std::vector<CostRow> rows;
  for (std::uint32_t at = 0; at < costs.operators.size(); ++at) {
    const OperatorCost& of = costs.operators[at];
    auto row = std::ranges::find_if(rows, [&](const CostRow& known) { return known.work == of.each.work && known.type == of.each.type; });
    if (row == rows.end()) row = rows.insert(row, {.work = of.each.work, .type = std::string(of.each.type)});
    row->sum.add(of.each, of.calls, of.time);
    row->calls += of.calls;
  }
  std::ranges::stable_sort(rows, [](const CostRow& a, const CostRow& b) {
    const bool moves = a.work == kernels::Work::move, other = b.work == kernels::Work::move;
    return moves != other ? other : a.sum.time > b.sum.time;
  });
  return rows;
}

// Of an operator that is above the roof of its arithmetic, the sentence that says so.
std::string misfit_of(const profile::StepCosts& costs, const devices::Row& row) {
  for (const OperatorCost& of : costs.operators) {
    const auto peak = devices::peak(row, of.each.work, of.each.type);
    if (!peak || of.time < Ns{kShortest} * of.calls) continue;
    const double reached = rate(static_cast<double>(of.calls) * of.each.flops, of.time);
    if (reached <= devices::kAboveRoof * *peak) continue;
    if (row.published) {
      return fmt::format(
          "{} reaches {:.3g} TFLOP/s, {:.0f} % of what is published for {} on {}: it ran in another type (TF32?), and nothing "
          "is held against published peaks",
          of.name, reached / 1e12, 100 * reached / *peak, of.each.type, devices::label(row));
    }
    return fmt::format(
        "{} reaches {:.3g} TFLOP/s, {:.0f} % of what was measured for {} on {}: the measurement does not fit this run; run hotlens "
        "bench-device again, as the script runs",
        of.name, reached / 1e12, 100 * reached / *peak, of.each.type, devices::label(row));
  }
  return "";
}

// As long as its roof allows, and never longer than it took: what is faster than memory lay in a cache.
double least_seconds(const OperatorCost& of, const CostUse& use, const devices::Row& row) {
  const double took = seconds(use.time);
  const auto least = devices::least_seconds(row, of.each);
  return least ? std::min(took, *least * static_cast<double>(use.calls)) : took;
}

// The products of a type tell the peak to hold all arithmetic against: that of the type with most of it.
std::optional<double> utilization(const profile::Profile& profile, const CostCard& card, const devices::Row& row) {
  const auto most = std::ranges::max_element(card.rows, {}, [](const CostRow& one) { return one.sum.flops; });
  const auto peak = devices::peak(row, kernels::Work::product, most->type);
  const Ns step = profile.plain_step.value_or(profile.step_wall());
  if (!peak || step <= Ns{} || most->sum.flops <= 0) return std::nullopt;
  double useful = 0;
  for (const OperatorCost& of : profile.costs.operators) useful += static_cast<double>(of.calls - of.again) * of.each.flops;
  return useful / seconds(step) / *peak;
}

std::vector<Headroom> headrooms(const profile::Profile& profile, const devices::Row& row) {
  std::vector<Headroom> found;
  for (std::uint32_t at = 0; at < profile.modules.size(); ++at) {
    const profile::Module& module = profile.modules[at];
    double took = 0, least = 0;
    Ns known{};
    for (const profile::ModuleCosts* costs : {&module.forward_costs, &module.backward_costs}) {
      for (const CostUse& use : costs->uses) {
        known += use.time;
        took += seconds(use.time);
        least += least_seconds(profile.costs.operators[use.at], use, row);
      }
    }
    const Ns whole = module.forward_costs.whole + module.backward_costs.whole;
    const bool covered = static_cast<double>(known.count()) >= kLeastCoverage * static_cast<double>(whole.count());
    if (!covered || least <= 0) continue;
    found.push_back({profile::ModuleId{at}, took / least, Ns{static_cast<std::int64_t>((took - least) * 1e9)}});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Headroom::saved);
  return found;
}

void hold_against(const devices::Row& row, CostRow& of) {
  const bool moves = of.work == kernels::Work::move;
  of.peak = moves ? std::optional(row.copy_bytes_per_s) : devices::peak(row, of.work, of.type);
  const double reached = moves ? of.bytes_per_s().value_or(0) : of.flops_per_s();
  if (of.peak && reached > 0 && reached <= devices::kAboveRoof * *of.peak) of.of_peak = reached / *of.peak;
}

}  // namespace

Reached reached_by(const kernels::Cost& each, std::int64_t calls, Ns time, const devices::Row* peaks) {
  if (time <= Ns{}) return {};
  const auto count = static_cast<double>(calls);
  Reached reached{.flops_per_s = rate(count * each.flops, time)};
  if (each.bytes) reached.bytes_per_s = rate(count * *each.bytes, time);
  const auto least = peaks ? devices::least_seconds(*peaks, each) : std::nullopt;
  if (least && *least * count <= devices::kAboveRoof * seconds(time)) reached.of_roof = *least * count / seconds(time);
  return reached;
}

double CostRow::flops_per_s() const {
  return rate(sum.flops, sum.time);
}

std::optional<double> CostRow::bytes_per_s() const {
  return sum.told > Ns{} ? std::optional(rate(sum.bytes, sum.told)) : std::nullopt;
}

const profile::Device* working_device(const profile::Profile& profile) {
  const auto works = [&](const profile::Device& device) { return (device.kind != "cpu") == profile.has_device(); };
  const auto found = std::ranges::find_if(profile.devices, works);
  return found == profile.devices.end() ? nullptr : &*found;
}

std::optional<CostCard> cost_card(const profile::Profile& profile, const devices::Row* peaks) {
  const profile::StepCosts& costs = profile.costs;
  if (costs.operators.empty()) return std::nullopt;
  CostCard card{.coverage = costs.coverage(), .sum = {}, .rows = rows_of(costs)};
  for (const CostRow& row : card.rows) card.sum.add(row.sum);
  if (peaks) card.misfit = misfit_of(costs, *peaks);
  const devices::Row* roof = card.misfit.empty() ? peaks : nullptr;
  for (const OperatorCost& of : costs.operators) card.reached.push_back(reached_by(of.each, of.calls, of.time, roof));
  if (!roof) return card;
  for (CostRow& row : card.rows) hold_against(*peaks, row);
  card.headroom = headrooms(profile, *peaks);
  if (card.coverage < kLeastCoverage) {
    card.why_no_mfu = fmt::format("no utilization (MFU) is given: shapes are known for {} of the time, {} are needed",
                                  format::share(card.coverage), format::share(kLeastCoverage));
  } else {
    card.mfu = utilization(profile, card, *peaks);
  }
  return card;
}

}  // namespace hotlens::report
