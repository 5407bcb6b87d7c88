// The collectives of one rank, found in its trace.
#pragma once

#include <vector>

#include "annotator/ranks/rank.h"

namespace hotlens::ranks {

// By start, on the trace's own axis. What two processes alone exchange (send, receive) is left out: it has no one to wait for together.
std::vector<Collective> collectives_of(const profile::Annotated& annotated);

}  // namespace hotlens::ranks
