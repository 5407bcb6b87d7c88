#include "annotator/attribution/account/windows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

namespace hotlens::attribution {
namespace {

// Less of all steps together is how the last kernels always run out; less of one step is no catching up.
constexpr double kRunsAhead = 0.02;
// A host gets ahead of a device that is busy. Late work beside an idle device waits for something else: another stream or process.
constexpr double kSaturated = 0.8;

// How far the device is behind as a step begins and as it ends.
struct Lead {
  Ns before{}, after{};
};

Ns part(double share, Ns whole) {
  return Ns{std::llround(share * static_cast<double>(whole.count()))};
}

// The end of what was launched before the recording: on each stream what runs before any work that it launched.
Ns launched_before(const std::vector<Work>& work) {
  std::set<std::uint32_t> begun;  // streams
  Ns reached = Ns::min();
  for (const Work& item : work) {
    if (item.launch != kNoNode) {
      begun.insert(item.stream.index);
    } else if (!begun.contains(item.stream.index)) {
      reached = std::max(reached, item.end);
    }
  }
  return reached;
}

std::vector<Lead> leads_of(const std::vector<StepSpan>& spans, const std::vector<Work>& work) {
  std::vector<const Work*> by_launch;
  for (const Work& item : work) {
    if (item.launch != kNoNode) by_launch.push_back(&item);
  }
  std::ranges::stable_sort(by_launch, {}, &Work::launched);
  Ns reached = launched_before(work);
  auto next = by_launch.begin();
  const auto lead_at = [&](Ns time) {
    for (; next != by_launch.end() && (*next)->launched < time; ++next) reached = std::max(reached, (*next)->end);
    return std::max(reached, time) - time;
  };
  std::vector<Lead> leads;
  for (const StepSpan& span : spans) {
    const Ns before = lead_at(span.start);
    leads.push_back({before, lead_at(span.end)});
  }
  return leads;
}

// What of the leads makes steps longer or shorter. A device catches up while the host waits for it: that waiting is the time of the steps
// whose work it is. Where it catches up although the host does not wait, the host is the slower one, and nothing was to be waited for.
void settle(std::vector<Lead>& leads, const std::vector<StepSpan>& spans, const std::vector<Ns>& waiting) {
  for (std::size_t step = spans.size(); step-- > 0;) {
    Lead& lead = leads[step];
    if (step + 1 < spans.size()) {
      const Ns next = leads[step + 1].before;
      lead.after = next == Ns{} ? Ns{} : std::min(lead.after, next + (spans[step + 1].start - spans[step].end));
    }
    const bool catches_up = lead.before - lead.after > part(kRunsAhead, spans[step].end - spans[step].start);
    lead.before = std::min(lead.before, lead.after + (catches_up ? waiting[step] : Ns{}));
  }
}

// Of the steps [from, to), which pass a lead on from one to the next.
bool runs_ahead(const std::vector<Lead>& leads, const std::vector<StepSpan>& spans, const std::vector<Interval>& busy, std::size_t from,
                std::size_t to) {
  Ns all{}, growth{}, least = leads[from].before;
  for (std::size_t step = from; step < to; ++step) {
    all += spans[step].end - spans[step].start;
    least = std::min(least, leads[step].before);
    growth = std::max(growth, leads[step].after - least);
  }
  if (growth <= part(kRunsAhead, all)) return false;
  const Ns first = spans[from].start + leads[from].before, last = spans[to - 1].end + leads[to - 1].after;
  return static_cast<double>(within(busy, first, last).count()) >= kSaturated * static_cast<double>((last - first).count());
}

}  // namespace

std::vector<Interval> windows(const std::vector<StepSpan>& spans, const std::vector<Work>& work, const std::vector<Ns>& waiting) {
  std::vector<Lead> leads = leads_of(spans, work);
  settle(leads, spans, waiting);
  const std::vector<Interval> busy = busy_intervals(work);
  std::vector<Interval> result;
  for (std::size_t from = 0; from < spans.size();) {
    std::size_t to = from + 1;
    while (to < spans.size() && leads[to].before > Ns{}) ++to;
    const bool ahead = runs_ahead(leads, spans, busy, from, to);
    for (; from < to; ++from) {
      const Lead lead = ahead ? leads[from] : Lead{};
      result.push_back({spans[from].start + lead.before, spans[from].end + lead.after});
    }
  }
  return result;
}

}  // namespace hotlens::attribution
