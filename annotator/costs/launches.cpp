#include "annotator/costs/launches.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "annotator/causes/gap.h"

namespace hotlens::costs {
namespace {

using attribution::Interval;
using attribution::kNoNode;
using attribution::StepAccount;
using attribution::Work;

// ROCm says CopyHostToDevice where CUDA says Memcpy HtoD.
std::string_view direction_of(std::string_view name) {
  if (name.contains("HtoD") || name.contains("HostToDevice")) return "HtoD";
  if (name.contains("DtoH") || name.contains("DeviceToHost")) return "DtoH";
  return name.contains("PtoP") || name.contains("Peer") ? "PtoP" : "DtoD";
}

std::string_view memory_of(std::string_view name) {
  return name.contains("Pageable") ? "pageable" : name.contains("Pinned") ? "pinned" : "";
}

// The value that this share of the sorted ones does not exceed.
Ns at_share(const std::vector<Ns>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1];
}

void count_kernels(const trace::Trace& trace, const attribution::Account& account, const StepAccount& step,
                   const attribution::Forest& forest, Launches& found) {
  std::unordered_map<std::uint32_t, std::int64_t> works;  // by launch
  for (const std::uint32_t at : step.launched) {
    if (account.work[at].launch != kNoNode) ++works[account.work[at].launch];
  }
  std::vector<Ns> delays;
  for (const std::uint32_t at : step.launched) {
    const Work& work = account.work[at];
    if (work.launch == kNoNode || trace.events.category[work.event] != trace::Category::kernel) continue;
    if (works[work.launch] > 1) {
      ++found.in_graphs;
      continue;
    }
    ++found.kernels;
    delays.push_back(std::max(Ns{}, work.start - forest.end[work.launch]));
    if (work.end - work.start < forest.end[work.launch] - forest.start[work.launch]) ++found.shorter;
  }
  if (delays.empty()) return;
  std::ranges::sort(delays);
  found.delay_median = at_share(delays, 0.5);
  found.delay_p90 = at_share(delays, 0.9);
}

void measure_queue(const attribution::Account& account, const StepAccount& step, Launches& found) {
  std::vector<Interval> waits = queued_work(account, step.span);
  Ns together{};
  for (const Interval& wait : waits) together += wait.end - wait.start;
  std::ranges::sort(waits, {}, &Interval::start);
  const auto span = static_cast<double>((step.span.end - step.span.start).count());
  const Ns some = attribution::within(attribution::merged(waits), step.span.start, step.span.end);
  found.queued_mean = static_cast<double>(together.count()) / span;
  found.queue_empty = 1 - static_cast<double>(some.count()) / span;
}

void count_transfers(const trace::Trace& trace, const attribution::Account& account, const StepAccount& step, Launches& found) {
  for (const std::uint32_t at : step.launched) {
    const Work& work = account.work[at];
    if (trace.events.category[work.event] != trace::Category::copy) continue;
    const std::string_view name = trace.names[trace.events.name[work.event]];
    const std::string_view direction = direction_of(name), memory = memory_of(name);
    auto row = std::ranges::find_if(found.transfers,
                                    [&](const Transfers& known) { return known.direction == direction && known.memory == memory; });
    if (row == found.transfers.end()) row = found.transfers.insert(row, {.direction = direction, .memory = memory});
    ++row->calls;
    row->time += work.end - work.start;
    if (const auto bytes = trace::row_of(trace.transfers.event, work.event)) {
      row->bytes += trace.transfers.bytes[*bytes];
      row->timed += work.end - work.start;
    }
  }
  std::ranges::stable_sort(found.transfers, std::ranges::greater{}, &Transfers::time);
}

void divide_idle(const attribution::Forest& forest, const attribution::Account& account, const StepAccount& step, Launches& found) {
  for (const attribution::Gap& gap : step.gaps) {
    Ns queued{};
    for (const causes::GapPart& part : causes::parts_of(forest, account, step, gap)) {
      const Ns time = part.end - part.start;
      if (part.cause == profile::Cause::queued) {
        queued += time;
      } else {
        (part.cause == profile::Cause::unrecorded ? found.other_wait : found.host_wait) += time;
      }
    }
    (gap.end - gap.start <= kConsecutive ? found.kernel_wait : found.other_wait) += queued;
  }
}

}  // namespace

std::optional<double> Transfers::bytes_per_s() const {
  if (timed <= Ns{} || bytes <= 0) return std::nullopt;
  return static_cast<double>(bytes) / (static_cast<double>(timed.count()) / 1e9);
}

std::vector<Interval> queued_work(const attribution::Account& account, const attribution::StepSpan& step) {
  std::vector<Interval> waits;
  for (const Work& work : account.work) {
    const Interval wait{std::max(work.launched, step.start), std::min(work.start, step.end)};
    if (wait.end > wait.start) waits.push_back(wait);
  }
  return waits;
}

std::optional<Launches> launches(const trace::Trace& trace, const attribution::Forest& forest, const attribution::Account& account,
                                 std::size_t step) {
  if (step >= account.steps.size()) return std::nullopt;
  const StepAccount& of = account.steps[step];
  if (of.launched.empty() || of.span.end <= of.span.start) return std::nullopt;
  Launches found;
  count_kernels(trace, account, of, forest, found);
  measure_queue(account, of, found);
  count_transfers(trace, account, of, found);
  divide_idle(forest, account, of, found);
  return found;
}

}  // namespace hotlens::costs
