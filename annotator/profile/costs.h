// Arithmetic and bytes of the representative step, by the rules of annotator/kernels/costs: what of it has known shapes.
//
// Time is that of what an operator launched on a device, each piece of work as long as it ran; without device work the operator's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/common/units.h"
#include "annotator/kernels/costs/cost.h"

namespace hotlens::profile {

// Operators of one name, equal shapes and types.
struct OperatorCost {
  std::string name, shapes;           // "aten::addmm", "[[512], [141, 512], [512, 512], [], []]"
  kernels::Cost each;                 // of one call
  std::int64_t calls = 0, again = 0;  // again: of these what runs a part of the forward once more (checkpointing)
  Ns time{};
};

struct CostUse {
  std::uint32_t at = 0;  // into StepCosts::operators
  std::int64_t calls = 0;
  Ns time{};
};

// Of a module, children's included, in one direction.
struct ModuleCosts {
  std::vector<CostUse> uses;
  Ns whole{};  // the time of all work, whose shapes may be known or not
};

struct StepCosts {
  std::vector<OperatorCost> operators;  // longest first
  Ns known{}, whole{};                  // time of work whose shapes are known (with that which needs none), and of all but communication

  double coverage() const { return whole > Ns{} ? static_cast<double>(known.count()) / static_cast<double>(whole.count()) : 0; }
};

struct FlopsAndBytes {
  double flops = 0, bytes = 0;  // bytes: of operators whose types are told
  Ns time{};                    // of all that is counted
  Ns told{};                    // of those whose bytes are known

  void add(const kernels::Cost& each, std::int64_t calls, Ns took);
  void add(const FlopsAndBytes& other);
};
FlopsAndBytes sum(const StepCosts& step, const std::vector<CostUse>& uses);

}  // namespace hotlens::profile
