// Costs and launches as people read them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/common/amount.h"
#include "annotator/common/format.h"
#include "annotator/report/cost_card.h"

namespace hotlens::report {
namespace {

using format::left;
using format::readable;
using format::right;

constexpr std::size_t kModules = 4;
constexpr std::size_t kOperators = 6;
constexpr int kWorthALine = 50;           // of all known time: at least one part in so many
constexpr std::size_t kShownShapes = 48;  // bytes

std::string_view words(kernels::Work work) {
  constexpr std::array<std::string_view, kernels::kWorks> kWords = {"products", "convolutions", "attention", "recurrent layers",
                                                                    "operators that move data"};
  return kWords[static_cast<std::size_t>(work)];
}

class CostsWriter {
 public:
  CostsWriter(const profile::Profile& profile, const Beside& beside, std::string_view bold, std::string_view off)
      : profile_(profile), beside_(beside), bold_(bold), off_(off), device_(profile.has_device()) {}

  std::string write() && {
    if (const auto card = cost_card(profile_, beside_.peaks ? &*beside_.peaks : nullptr)) costs(*card);
    if (beside_.launches) launches(*beside_.launches);
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void title(std::string_view text) { out_.append("\n").append(bold_).append(text).append(off_).append("\n"); }

  void costs(const CostCard& card) {
    title(fmt::format("Arithmetic and bytes, shapes known for {} of the {} time", format::share(card.coverage),
                      device_ ? "device" : "operator"));
    for (const CostRow& row : card.rows) this->row(row);
    by_arguments(card);
    if (card.mfu) line(fmt::format("  utilization (MFU) {} of the {} peak, over the whole step", format::share(*card.mfu), peaks()));
    if (!card.why_no_mfu.empty()) line("  " + card.why_no_mfu);
    if (!card.misfit.empty()) line("  " + card.misfit);
    if (!beside_.device.empty()) missing();
    headroom(card);
  }

  std::string_view peaks() const { return beside_.peaks && beside_.peaks->published ? "published" : "measured"; }

  void missing() {
    const std::string name = format::shortened(beside_.device);
    line(beside_.peaks ? "  peaks as published for " + name + ", which no program reaches: run hotlens bench-device there for measured ones"
                       : "  no measured peaks of " + name + " are kept: run hotlens bench-device there for shares of them");
  }

  void row(const CostRow& row) {
    std::string text = "  " + left(std::string(words(row.work)) + (row.type.empty() ? "" : " " + row.type), 26);
    text += right(readable(row.sum.time), 10);
    if (row.work != kernels::Work::move) {
      text += right(format::amount(row.sum.flops, "FLOP"), 14) + right(format::amount(row.flops_per_s(), "FLOP/s"), 16);
    } else if (const auto rate = row.bytes_per_s()) {
      text += right(format::amount(row.sum.bytes, "B"), 14) + right(format::amount(*rate, "B/s"), 16);
      if (row.sum.told * 100 < row.sum.time * 99) text += "   bytes known for " + format::percent(row.sum.told, row.sum.time);
    } else {
      text += right("bytes unknown", 30);
    }
    if (row.of_peak) {
      text +=
          right(format::share(*row.of_peak), 6) + " of " + format::amount(*row.peak, row.work == kernels::Work::move ? "B/s" : "FLOP/s");
    }
    line(text);
  }

  // What does arithmetic, by its unique arguments: what is worth a line of its own.
  void by_arguments(const CostCard& card) {
    std::size_t shown = 0;
    for (std::size_t at = 0; at < card.reached.size() && shown < kOperators; ++at) {
      const profile::OperatorCost& of = profile_.costs.operators[at];
      if (of.each.work == kernels::Work::move || of.time * kWorthALine < card.sum.time) continue;
      if (shown++ == 0) line("  by unique arguments:");
      line(row_of(of, card.reached[at]));
    }
  }

  std::string row_of(const profile::OperatorCost& of, const Reached& reached) const {
    const std::string type = of.each.type.empty() ? "" : " " + std::string(of.each.type);
    std::string text = "  " + left(format::shortened(of.name, 24) + type + " ×" + std::to_string(of.calls), 34);
    text += right(readable(of.time), 10) + right(format::amount(reached.flops_per_s, "FLOP/s"), 14);
    text += right(reached.bytes_per_s ? format::amount(*reached.bytes_per_s, "B/s") : "bytes unknown", 16);
    text += right(reached.of_roof ? format::share(*reached.of_roof) + " of the roof" : "", beside_.peaks ? 18 : 0);
    return text + "  " + format::shortened(of.shapes, kShownShapes);
  }

  // Of modules that hold no others: what lies around them is no news.
  void headroom(const CostCard& card) {
    std::string text;
    std::size_t shown = 0;
    for (const Headroom& one : card.headroom) {
      const profile::Module& module = profile_.at(one.module);
      const bool worth_it = module.children.empty() && one.saved * 100 >= profile_.step_wall();
      if (!worth_it || shown == kModules) continue;
      ++shown;
      const std::string name = module.path.empty() ? module.class_name : module.path;
      text += fmt::format("{}{} {:.2g}× ({})", text.empty() ? "" : ", ", format::shortened(name, 40), one.times, readable(one.saved));
    }
    if (!text.empty()) line(fmt::format("  faster by at most, at the {} peaks: {}", peaks(), text));
  }

  void launches(const costs::Launches& of) {
    title("Launches");
    if (of.kernels > 0) {
      line(fmt::format("  {} kernels begin {} after their launch (median; p90 {}); {} ({}) run shorter than their launch took", of.kernels,
                       readable(of.delay_median), readable(of.delay_p90), of.shorter,
                       format::share(static_cast<double>(of.shorter) / static_cast<double>(of.kernels))));
    }
    if (of.in_graphs > 0) line(fmt::format("  {} more are launched together, by graphs", of.in_graphs));
    line(fmt::format("  launched and not begun: {:.{}f} on average; nothing is queued for {} of the step", of.queued_mean,
                     of.queued_mean < 10 ? 1 : 0, format::share(of.queue_empty)));
    line(fmt::format("  device idle: {} host wait, {} kernel wait, {} other", readable(of.host_wait), readable(of.kernel_wait),
                     readable(of.other_wait)));
    for (const costs::Transfers& row : of.transfers) transfers(row);
    categories();
  }

  void transfers(const costs::Transfers& row) {
    std::string text = fmt::format("  copies {}{}: {} in {}", row.direction, row.memory.empty() ? "" : fmt::format(", {}", row.memory),
                                   row.calls, readable(row.time));
    if (const auto rate = row.bytes_per_s())
      text += fmt::format(", {} at {}", format::amount(static_cast<double>(row.bytes), "B"), format::amount(*rate, "B/s"));
    line(text);
  }

  void categories() {
    Ns whole{};
    std::vector<std::pair<Ns, std::string_view>> rows;
    for (const profile::KernelUse& use : profile_.kernel_times) {
      const std::string_view family = name(profile_.kernels[use.kernel.index].parts.family);
      auto row = std::ranges::find(rows, family, &std::pair<Ns, std::string_view>::second);
      if (row == rows.end()) row = rows.insert(row, {Ns{}, family});
      row->first += use.time;
      whole += use.time;
    }
    std::ranges::stable_sort(rows, std::ranges::greater{}, &std::pair<Ns, std::string_view>::first);
    std::string text;
    for (const auto& [time, family] : rows) {
      if (time * 100 < whole) break;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", family, format::percent(time, whole));
    }
    if (!text.empty()) line("  kernels by category: " + text);
  }

  const profile::Profile& profile_;
  const Beside& beside_;
  std::string_view bold_, off_;
  bool device_;
  std::string out_;
};

}  // namespace

std::string costs_text(const profile::Profile& profile, const Beside& beside, std::string_view bold, std::string_view off) {
  return CostsWriter(profile, beside, bold, off).write();
}

}  // namespace hotlens::report
