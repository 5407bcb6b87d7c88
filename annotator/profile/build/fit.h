// How well the measured steps fit the map step, said to people.
#pragma once

#include "annotator/attribution/map_step/transfer.h"
#include "annotator/profile/bundle/bundle.h"

namespace hotlens::profile {

// Share of all steps' operators that were found in the map step; 0 for steps without operators.
double found(const attribution::Transfer& transfer);

// Adds an issue for steps that ran other operators than the map step, and one for steps whose modules cannot be told apart: which steps
// they are, and where that time went. `loop`: what is known to come now and then, else null; a step that ran all of the map step's
// operators and others is then one of those in which it came.
void report_fit(const attribution::Transfer& transfer, const attribution::Steps& steps, const Model& model, const Loop* loop,
                Issues& issues);

}  // namespace hotlens::profile
