// Which blocks of a step to checkpoint: every choice that takes the least time for its peak of memory.
//
// A step with blocks is a line of passes: each block forward, the rest and the loss, each block backward, the update. What a pass adds to
// the memory that is held, and the most that it needs on the way, depend on whether its block and the one before it are checkpointed (the
// one's result is the other's input, and either may keep it). Replays of at most four choices show all of these, and every other choice is
// a sum of them. The best are found block by block, the last first: of two choices for the same blocks the one that takes no less time and
// holds no less memory is dropped, so the result is that of trying them all.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "annotator/common/units.h"
#include "annotator/lab/predict/batch_sizes.h"

namespace hotlens::lab {

// By block, in the order in which they run.
using Choice = std::vector<bool>;

// Bytes: what a pass leaves held, and the most on the way, above what was held when it began.
struct Pass {
  std::int64_t net = 0, rise = 0;
};

struct BlockCosts {
  using Passes = std::array<std::array<Pass, 2>, 2>;  // [the block before it is checkpointed][it is]
  Passes forward{}, backward{};
  Ns again{};  // that its second run takes, with Python's part
};

struct StepCosts {
  std::int64_t start = 0;  // bytes
  Pass before, after;      // of the blocks; after the backward pass
  std::vector<BlockCosts> blocks;
};

// What is replayed to know the costs: none, all, and every other block in two ways.
std::vector<Choice> samples(std::size_t blocks);
// The error: why they do not tell.
std::expected<StepCosts, std::string> costs_of(const std::vector<Replays>& replayed, std::size_t blocks);

struct Plan {
  Choice checkpointed;
  std::int64_t peak = 0;  // bytes
  Ns again{};             // time that it adds to the step
};
Plan plan_of(const StepCosts& costs, const Choice& checkpointed);

// From no checkpoint to the lowest peak: each has a lower peak than all that take less time.
std::vector<Plan> best_plans(const StepCosts& costs);

// Step times of a replayed choice, with its second runs and without them, round by round.
Replays without_second_runs(const Replays& replayed);
// What torch.utils.checkpoint takes in Python beside the second runs themselves.
Ns python_of(const std::map<std::int64_t, SecondRuns>& again);

// Its peak lies after its backward pass.
bool peak_is_in_update(const StepCosts& costs, const Choice& checkpointed);

}  // namespace hotlens::lab
