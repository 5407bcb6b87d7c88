// One program, replayed: its tensors as they were before the step, its operators through the dispatcher, autograd and the optimizer.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/application.h"
#include "annotator/lab/worker/before.h"
#include "annotator/lab/worker/checkpoint.h"
#include "annotator/lab/worker/fates.h"
#include "annotator/lab/worker/following.h"
#include "annotator/lab/worker/meter.h"
#include "annotator/lab/worker/samples.h"

namespace hotlens::lab {

struct Replayed {
  std::chrono::nanoseconds time{}, wall{}, cpu{};  // see clock.h
  std::int64_t start_bytes = 0, peak_bytes = 0;    // of the program's own tensors
  std::int64_t minor_faults = 0;
  std::map<std::int64_t, SecondRun> again = {};  // by block
  std::vector<Segment> segments = {};            // where they were wanted
};

// What ended a replay before its end.
struct Halt {
  std::string message;
  std::string op, module;         // where; empty: nowhere special
  std::size_t at = SIZE_MAX;      // the operator's position
  bool unfollowed = false;        // a literal size could not be told; nothing is wrong with the program
  std::vector<Sizes> sizes = {};  // of the tensors that it was given
};

// An edited program whose literal sizes were followed.
struct FollowedEdit {
  std::size_t changed = 0;                        // operators
  std::chrono::nanoseconds recorded{}, edited{};  // of a step, told from samples of its calls
};

// Asked between operators; true ends the replay.
using Stop = std::function<bool()>;

class Replay {
 public:
  // Finds the operators; what this torch does not have is an error that names it.
  static std::expected<std::unique_ptr<Replay>, Halt> prepare(Program program);

  // One step at this batch size, from the same state each time. `events`: what was allocated and released, see Meter.
  std::expected<Replayed, Halt> step(std::int64_t batch, Meter& meter, const Stop& stop, std::vector<std::int64_t>* events,
                                     const BlockPlan& plan = {});

  // One step each of `recorded` and of this program, an edit of it: literal sizes follow the tensors around them from here on. `sampled`:
  // each different call runs once (samples.h). After an error the sizes of some operators have been followed, those of others not.
  std::expected<FollowedEdit, Halt> follow(Replay& recorded, const Followed& what, std::int64_t batch, Meter& meter, const Stop& stop,
                                           bool sampled);

  // What was made for batch sizes is let go.
  void forget_batches() { before_.forget_batches(); }

  const Program& program() const { return program_; }

 private:
  Replay(Program program, Handles handles);
  static std::expected<Handles, Halt> handles_of(const std::vector<Operator>& operators, const Program& program);
  // Called before each operator of the library, and after the last with null; throws where the step cannot go on.
  using Watch = std::function<void(Operator* op, const Bindings& bindings)>;
  std::vector<Sizes> sizes(std::size_t at, const Bindings& bindings) const;
  void run(std::size_t at, Bindings& bindings, Meter& meter);
  void run_library(Operator& op, const Handle& handle, Bindings& bindings);
  class Modes;
  // An operator of one of the passes of a custom autograd function.
  void run_within(Operator& op, const Handle& handle, Bindings& bindings, Modes& modes);
  void apply_function(Operator& op, const Handle& handle, Bindings& bindings);
  std::vector<at::Tensor> run_backward(Operator& op, const Handle& handle, Bindings& bindings, Application& node,
                                       std::vector<at::Tensor> gradients);
  void begin_block(std::size_t at, const Bindings& bindings, Meter& meter);
  Halt halted(std::size_t at, std::string message) const;

  // A block's operators are those between its own and `end`; `given`: tensors that they take from outside.
  struct Block {
    std::size_t end = 0;
    std::vector<TensorId> given;
  };
  static std::map<std::size_t, Block> blocks_of(const Program& program);

  Program program_;
  Handles handles_;
  std::map<std::size_t, Block> blocks_;  // by the place of their first operator
  Blocks* running_blocks_ = nullptr;     // of the step that runs
  Before before_;
  Watch watch_;                 // of the step that runs; empty: nobody watches
  Samples* samples_ = nullptr;  // the same; null: every call runs
};

// The operator that runs now, for who has to say what a crash was in; empty between replays.
const char* running_operator();

}  // namespace hotlens::lab
