#include "annotator/profile/costs.h"

namespace hotlens::profile {

void FlopsAndBytes::add(const kernels::Cost& each, std::int64_t calls, Ns took) {
  flops += static_cast<double>(calls) * each.flops;
  time += took;
  if (!each.bytes) return;
  bytes += static_cast<double>(calls) * *each.bytes;
  told += took;
}

void FlopsAndBytes::add(const FlopsAndBytes& other) {
  flops += other.flops;
  bytes += other.bytes;
  time += other.time;
  told += other.told;
}

FlopsAndBytes sum(const StepCosts& step, const std::vector<CostUse>& uses) {
  FlopsAndBytes sum;
  for (const CostUse& use : uses) sum.add(step.operators[use.at].each, use.calls, use.time);
  return sum;
}

}  // namespace hotlens::profile
