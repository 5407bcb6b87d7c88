#include "annotator/profile/costs.h"

namespace hotlens::profile {

FlopsAndBytes sum(const StepCosts& step, const std::vector<CostUse>& uses) {
  FlopsAndBytes sum;
  for (const CostUse& use : uses) {
    const kernels::Cost& each = step.operators[use.at].each;
    const auto calls = static_cast<double>(use.calls);
    sum.flops += calls * each.flops;
    sum.bytes += calls * each.bytes.value_or(0);
    sum.time += use.time;
  }
  return sum;
}

}  // namespace hotlens::profile
