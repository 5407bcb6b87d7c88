// When a device did what each step of the host asked of it.
//
// That is the step's span, as long as the host does not get ahead by more and more. Where it does, the device's end of the step is what
// counts: later than the host's by how far the device is behind, until a step waits for it. Steps between which the device is not behind
// are told apart, so that one which gets ahead says nothing of the others.
#pragma once

#include <vector>

#include "annotator/attribution/account/device.h"
#include "annotator/attribution/steps/steps.h"

namespace hotlens::attribution {

// By step. `waiting`: how long the main thread waits in each. No window is shorter than its span less that.
std::vector<Interval> windows(const std::vector<StepSpan>& spans, const std::vector<Work>& work, const std::vector<Ns>& waiting);

}  // namespace hotlens::attribution
