// Gradients that the forward pass itself asks for: forces of an energy, the residual of a differential equation.
//
// Their time is the line's that asks (`force = grad(energy, points)`), and not also the line's before it that computed `energy`: both lie
// in one function, whose lines add up to the line that called it.
#pragma once

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// Takes the line and the expression that made it from the backward work of such gradients, where they share an execution with the line
// that asks. The module keeps its time.
void settle_inner_gradients(const Forest& forest, const Steps& steps, Owners& owners);

}  // namespace hotlens::attribution
