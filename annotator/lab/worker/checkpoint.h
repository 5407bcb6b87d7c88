// Blocks of a program whose forward pass keeps nothing for the backward pass and runs again there, with the same saved tensors at the same
// moments as torch.utils.checkpoint(use_reentrant=False): what a block would save is left out, and the first of it that is asked for runs
// the block again, up to the last one that was left out.
//
// Blocks may stand in blocks. What an inner one is given is saved by the outer one, that is, left out as well: it runs again when the outer
// one has, which only marks the inner one on its way.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "annotator/lab/worker/meter.h"

namespace hotlens::lab {

// From where the forward or the backward pass of a block begins to where that of the next one does.
struct Segment {
  std::int64_t block = -1;  // -1: before the first of them, or after the backward pass
  bool backward = false;
  std::int64_t net = 0, rise = 0;  // bytes: what its end holds more than its beginning, and the most on the way
};

struct SecondRun {
  std::chrono::nanoseconds took{};
  std::int64_t saved = 0;  // tensors that were left out
};

// What a replay is asked to do with the blocks of its program.
struct BlockPlan {
  std::optional<std::set<std::int64_t>> checkpointed;  // absent: those that the program says
  bool segments = false;
};

// The blocks of one step that runs now; nothing of it outlives the step but what the graph holds.
class Blocks {
 public:
  Blocks(const BlockPlan& plan, Meter& meter);
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();

  // `again` runs the block anew, from these inputs.
  using Again = std::function<void(const std::vector<at::Tensor>& inputs)>;
  void begin(std::int64_t block, bool checkpointed, const std::vector<at::Tensor>& inputs, Again again);
  void end(const at::Tensor& result);
  void after_backward();

  std::vector<Segment> segments();                                            // the last one ends now; empty where they were not wanted
  std::int64_t peak() const;                                                  // the highest of all segments
  const std::map<std::int64_t, SecondRun>& again() const { return *again_; }  // by block

 private:
  class Line;

  BlockPlan plan_;
  std::shared_ptr<Line> line_;  // null: no segments are wanted
  std::shared_ptr<std::map<std::int64_t, SecondRun>> again_;
  std::int64_t block_ = -1;
};

}  // namespace hotlens::lab
