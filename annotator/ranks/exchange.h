// The collectives of one rank, found in its trace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotator/ranks/rank.h"

namespace hotlens::ranks {

// By start, on the trace's own axis. What two processes alone exchange (send, receive) is left out: it has no one to wait for together.
std::vector<Collective> collectives_of(const profile::Annotated& annotated);

// "ring, LL" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; empty where a kernel's name does not tell how it exchanges.
std::string algorithm_named(std::string_view kernel);

}  // namespace hotlens::ranks
