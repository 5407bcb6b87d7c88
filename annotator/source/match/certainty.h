// Which matches can be sure that no other statement is meant.
#pragma once

#include "annotator/source/match/matching.h"

namespace hotlens::source {

// Takes certainty from repeated statements whose function has more or fewer of them than before, from functions that may have changed
// places with one of the same name and body, and from everything inside a function or class that may be another one. To be called when all
// is paired.
void forget_doubtful(Matching& matching);

}  // namespace hotlens::source
