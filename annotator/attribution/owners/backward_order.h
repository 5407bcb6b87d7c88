// Which forward operator a backward operator belongs to, in a trace that tells neither sequence numbers nor arrows.
//
// The autograd engine runs nodes in the reverse of the order in which they were made, and a node is named after the operator that made it:
// AddmmBackward0 after aten::addmm. Within one backward pass and the forward before it, names that both have equally often pair up one to
// one, the last forward with the first backward; between such pairs the other names do, where as many are left or all candidates are of one
// module. What does not pair stays without an operator: where several are possible nothing is chosen.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/attribution/steps/steps.h"
#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

// Operators that run autograd nodes, gradient accumulation not counted.
struct OrderFit {
  std::size_t nodes = 0, paired = 0;

  double confidence() const { return nodes == 0 ? 0 : static_cast<double>(paired) / static_cast<double>(nodes); }
};

struct BackwardOrder {
  std::vector<std::uint32_t> creator;  // by node; kNoNode where nothing pairs. Gradient accumulation has that of the node before it
  OrderFit fit;
};

// Below this share of paired nodes the passes are not of the forward before them, and none is taken.
constexpr double kLeastConfidence = 0.5;

BackwardOrder backward_by_order(const trace::Trace& trace, const Forest& forest, const Steps& steps);

}  // namespace hotlens::attribution
