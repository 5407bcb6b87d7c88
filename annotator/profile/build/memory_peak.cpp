// From what a step allocated to all that was held at its peak.
#include <algorithm>
#include <numeric>

#include "annotator/profile/build/memory.h"

namespace hotlens::profile {
namespace {

std::int64_t known(const std::optional<Bytes>& size) {
  return size ? std::max<std::int64_t>(0, count(*size)) : 0;
}

Bytes& part(Holdings& of, Holding holding) {
  return of[static_cast<std::size_t>(holding)];
}

// What each module has for itself of sizes that are told with their children's. A tensor that two children share is told by both and once
// by their parent: it is then the first one's.
template <class Size>
std::vector<std::int64_t> without_children(const std::vector<Module>& modules, Size size_of) {
  std::vector<std::int64_t> own(modules.size());
  for (std::size_t module = 0; module < modules.size(); ++module) {
    own[module] = size_of(module);
    const ModuleId parent = modules[module].parent;
    if (!parent.valid()) continue;
    own[module] = std::min(own[module], own[parent.index]);
    own[parent.index] -= own[module];
  }
  return own;
}

std::int64_t sum_of(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// What modules hold before the step begins and still do at its peak.
struct Kept {
  std::vector<std::int64_t> weights, gradients, optimizer;  // by module
  std::int64_t elsewhere = 0;                               // of optimizers, of no module

  std::int64_t all() const { return sum_of(weights) + sum_of(gradients) + sum_of(optimizer) + elsewhere; }
};

// A gradient that the step allocates is not there before: it was freed when the gradients were zeroed.
Kept kept_before(const MemoryUse& used, std::optional<Bytes> elsewhere, const std::vector<Module>& modules) {
  const auto recorded = [&](std::optional<Bytes> Memory::* what) {
    return without_children(modules, [&](std::size_t module) { return known(modules[module].memory.*what); });
  };
  const auto gradient = [&](std::size_t module) {
    return std::max<std::int64_t>(0, known(modules[module].memory.gradients) - known(used.modules[module].gradients));
  };
  return {.weights = recorded(&Memory::parameters),
          .gradients = without_children(modules, gradient),
          .optimizer = recorded(&Memory::optimizer),
          .elsewhere = known(elsewhere)};
}

void give(const Kept& kept, MemoryAtPeak& peak, std::vector<Module>& modules) {
  const auto add = [](Bytes& to, std::int64_t size) { to = to + Bytes{size}; };
  for (std::size_t module = 0; module < modules.size(); ++module) {
    Holdings& own = modules[module].memory.at_peak;
    add(part(own, Holding::weights), kept.weights[module]);
    add(part(own, Holding::gradients), kept.gradients[module]);
    add(part(own, Holding::optimizer), kept.optimizer[module]);
  }
  add(part(peak.stages[static_cast<std::size_t>(Stage::optimizer)], Holding::optimizer), kept.elsewhere);
}

std::int64_t allocated_in_step(const MemoryMoment& moment) {
  Holdings all{};
  for (const Holdings& each : moment.modules) all = all + each;
  for (const Holdings& each : moment.stages) all = all + each;
  return count(sum(all));
}

}  // namespace

MemoryAtPeak settle_peak(const MemoryUse& used, std::optional<Bytes> optimizer_elsewhere, std::vector<Module>& modules) {
  MemoryAtPeak peak;
  const Kept kept = kept_before(used, optimizer_elsewhere, modules);
  if (!used.moment || !used.peak) {
    give(kept, peak, modules);
    peak.total = Bytes{kept.all()};
    return peak;
  }
  const MemoryMoment& moment = *used.moment;
  peak.moment = {
      .time = moment.time, .stage = moment.stage, .module = moment.module == attribution::kNothing ? ModuleId{} : ModuleId{moment.module}};
  peak.stages = moment.stages;
  for (std::size_t module = 0; module < modules.size(); ++module) modules[module].memory.at_peak = moment.modules[module];
  // Where frees were lost on the way, the step seems to hold more than the allocator counts.
  const std::int64_t allocated = allocated_in_step(moment);
  const std::int64_t before = std::max<std::int64_t>(0, count(*used.peak) - allocated);
  peak.total = Bytes{allocated + before};
  peak.before = Bytes{before};
  if (!moment.counts_all) {
    peak.outside = Bytes{kept.all()};
    peak.total = peak.total + peak.outside;
    give(kept, peak, modules);
  } else if (kept.all() <= before) {
    peak.before = Bytes{before - kept.all()};
    give(kept, peak, modules);
  }
  return peak;
}

}  // namespace hotlens::profile
