#include "server/features/timeline/names.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hotlens::features {
namespace {

auto key(const StepName& each) {
  return std::tuple(each.name, each.device, each.step);
}

// Runs of one name in one step are one entry; what comes again later is added up by merged().
class Collector {
 public:
  Collector(std::size_t names, bool device) : open_(names), device_(device) {}

  void add(std::uint32_t name, std::uint32_t step, Ns time) {
    StepName& sum = open_[name];
    if (sum.count > 0 && sum.step != step) closed_.push_back(std::exchange(sum, {}));
    sum = {.name = name, .device = device_, .step = step, .count = sum.count + 1, .time = sum.time + time};
  }

  StepNames take() {
    for (const StepName& sum : open_) {
      if (sum.count > 0) closed_.push_back(sum);
    }
    return std::move(closed_);
  }

 private:
  std::vector<StepName> open_;  // by name
  StepNames closed_;
  bool device_;
};

StepNames merged(StepNames all) {
  std::ranges::sort(all, {}, key);
  StepNames result;
  for (const StepName& each : all) {
    if (!result.empty() && key(result.back()) == key(each)) {
      result.back().count += each.count;
      result.back().time += each.time;
    } else {
      result.push_back(each);
    }
  }
  return result;
}

}  // namespace

StepNames names_by_step(const profile::Annotated& annotated) {
  const attribution::Forest& forest = annotated.forest;
  const auto& steps = annotated.account.steps;
  const auto name_of = [&](std::uint32_t event) { return annotated.trace.events.name[event].index; };
  std::uint32_t most = 0;
  for (const trace::NameId name : annotated.trace.events.name) most = std::max(most, name.index);

  Collector host(std::size_t{most} + 1, false), device(std::size_t{most} + 1, true);
  for (const attribution::Forest::Thread& thread : forest.threads) {
    std::uint32_t step = 0;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      while (step < steps.size() && steps[step].span.end <= forest.start[node]) ++step;
      if (step == steps.size()) break;
      const bool shown = forest.kind[node] == attribution::Kind::op || forest.kind[node] == attribution::Kind::launch;
      if (shown && forest.start[node] >= steps[step].span.start)
        host.add(name_of(forest.event[node]), step, forest.end[node] - forest.start[node]);
    }
  }
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    for (const std::uint32_t at : steps[step].launched) {
      const attribution::Work& work = annotated.account.work[at];
      device.add(name_of(work.event), step, work.end - work.start);
    }
  }
  StepNames all = host.take();
  const StepNames work = device.take();
  all.insert(all.end(), work.begin(), work.end());
  return merged(std::move(all));
}

}  // namespace hotlens::features
