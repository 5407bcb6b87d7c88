// Which forward operator created the autograd node that a backward operator runs.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

// By node: of a backward operator the node of the operator that created it, within the same process; kNoNode for all others.
//
// The profiler numbers autograd nodes per forward thread, and writes on a forward operator the number that the next node will get. Of those
// with a number, the one that started last before the backward operator created it (the profiler's own rule for its arrows).
// Nodes that writing into a view makes besides the operator's own (CopySlices, AsStridedBackward) have numbers that no operator has; the
// operator with the number before theirs made them.
// Without numbers the profiler's own arrows from forward to backward tell the same.
// A graph of TorchScript writes no number in its forward; its node is found by the numbers before and after it.
// AccumulateGrad carries no number. The engine runs it right after the node that computed the gradient, so it has that node's creator: the
// operator that used the parameter.
std::vector<std::uint32_t> creators(const trace::Trace& trace, const Forest& forest);

}  // namespace hotlens::attribution
