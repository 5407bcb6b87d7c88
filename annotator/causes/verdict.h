// What holds a step, or one module, up: one word, with the times that say so and where they lie.
//
// Two questions in turn, both answered from the account of the representative step:
// 1. Which resource is critical, the device or the host? The one that holds most of the critical path, since the other could be infinitely
//    fast without the step getting shorter; also the device where it hardly idles.
// 2. Of a critical device: what it ran on the path. Of a critical host: what the host did while the device idled.
// Without device work the host's time is all there is.
// Three things need judgement:
// - A synchronisation costs more than the idle time during it: it drains the queue, so the device also idles during the launches right
//   after it. No more than the time waited could have been overlapped, so that much of the launching is the synchronisation's fault. That
//   is judgement: the evidence tells idle time during a synchronisation and waiting of the host apart, as they were.
// - Host code of less than a millisecond between two operators is the way to the next launch (Cause::launch). Longer code is something
//   else (Cause::host), which no word of the verdict names: it is `unclear`, and the evidence says where the time went.
// - Compute- or memory-bound is told by the families of what ran, since a trace does not know the peaks of its machine. Products,
//   convolutions and attention count as compute, all other arithmetic as memory; so do products whose recorded shapes leave too little
//   arithmetic for the bytes they read (intensity.h). Where neither prevails nothing is claimed.
// A verdict is `unclear` where the greatest cause is small, or where the next one is nearly as great.
#pragma once

#include <span>
#include <string>

#include "annotator/profile/profile.h"

namespace hotlens::causes {

// From the finished numbers of a profile: its representative step, or what some modules (none inside another) have of that step's critical
// path.
profile::Verdict judge(const profile::Profile& profile);
profile::Verdict judge(const profile::Profile& profile, std::span<const profile::ModuleId> modules);

// FILE:LINE of a stage, as evidence names it; lines count from one.
std::string place_of(const profile::Profile& profile, const profile::StageSite& stage);

}  // namespace hotlens::causes
