// How well the measured steps fit the map step, said to people.
#pragma once

#include "annotator/profile/bundle.h"
#include "annotator/timeline/transfer.h"

namespace hotlens::profile {

// Share of all steps' operators that were found in the map step; 0 for steps without operators.
double found(const timeline::Transfer& transfer);

// Adds an issue for steps that ran other operators than the map step, and one for steps whose modules cannot be told apart: which steps
// they are, and where that time went.
void report_fit(const timeline::Transfer& transfer, const timeline::Steps& steps, const Model& model, Issues& issues);

}  // namespace hotlens::profile
