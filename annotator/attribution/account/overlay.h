// What stands for the main thread while it waits for others.
#pragma once

#include <vector>

#include "annotator/attribution/account/account.h"

namespace hotlens::attribution {

// The wall with pieces of threads that run backward or forward for the main one in place of its idle time, marked as lent: the workers
// count them themselves. Where several run at once the first of `workers` stands there. All lists are partitions in order of time; O(n log
// n) in the number of pieces.
std::vector<Piece> overlaid(const std::vector<Piece>& wall, const std::vector<std::vector<Piece>>& workers);

}  // namespace hotlens::attribution
