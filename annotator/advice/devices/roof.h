// The roofline of a measured device: the least time that it needs for an operator of known cost.
#pragma once

#include <optional>

#include "annotator/advice/devices/row.h"
#include "annotator/kernels/costs/cost.h"

namespace hotlens::devices {

// Operations a second that the device reaches at its best for work of this kind and type, measured for that type: of convolutions what
// convolutions or products reach, of everything else what products do. Nothing of moves, and where the type is not told or not measured.
std::optional<double> peak(const Row& row, kernels::Work work, std::string_view type);

// By arithmetic alone, or by moving its bytes, whichever takes longer. A peak of f32 stands for a type that is not measured. Nothing where
// neither is known.
std::optional<double> least_seconds(const Row& row, const kernels::Cost& cost);

// An operator that is faster than this allows disproves its roof: the row is of another state of the device, or of another one.
constexpr double kAboveRoof = 1.1;

}  // namespace hotlens::devices
