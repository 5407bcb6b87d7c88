// What has no twin where it stood: renamed, wrapped, moved, edited.
//
// Each pass pairs what the ones before it left over, and none of its pairs is certain.
#pragma once

#include "annotator/source/match/matching.h"

namespace hotlens::source {

// Functions and classes under another name: the same body, else the most alike one.
void pair_renamed(Matching& matching);
// Statements that were wrapped, unwrapped or moved inside their function.
void pair_in_scopes(Matching& matching);
// Statements that say enough to be known again, and only once in each text, anywhere in the file.
void pair_in_file(Matching& matching);
// What still has no twin, with what stands in its place and is like it.
void pair_edited(Matching& matching);

}  // namespace hotlens::source
