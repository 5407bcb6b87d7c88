// Stages of operators that no range and no module claims: the loss, updates by hand, and the forward of a trace without modules.
#pragma once

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// Step by step, by place between backward passes:
// - Before a pass: what runs after the model's last call is the loss. Without modules it is forward, from Pass::loss on the loss. Both end
//   with the last operator that the pass goes back through.
// - A pass begins with the `ones_like` that makes its first gradient.
// - After a pass, before an optimizer's step: clipping, unscaling and the like prepare the update and are the optimizer's; reading a value
//   back is not. Where no optimizer of torch's runs, what runs up to the last operator that writes in place is an update by hand; it runs
//   in the next step where steps end with their pass.
// - A closure's forward inside the optimizer's range is forward.
// - A step without backward and without modules is forward; so is the replay of a captured graph in a step without backward, since the
//   modules that it replays leave no frames.
// The rest stays `other`.
void fill_phases(const trace::Trace& trace, const Forest& forest, const Steps& steps, Owners& owners);

}  // namespace hotlens::attribution
