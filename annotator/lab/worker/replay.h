// One program, replayed: its tensors as they were before the step, its operators through the dispatcher, autograd and the optimizer.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/before.h"
#include "annotator/lab/worker/meter.h"

namespace hotlens::lab {

struct Replayed {
  std::chrono::nanoseconds wall{}, cpu{};
  std::int64_t start_bytes = 0, peak_bytes = 0;  // of the program's own tensors
  std::int64_t minor_faults = 0;
};

// What ended a replay before its end.
struct Halt {
  std::string message;
  std::string op, module;  // where; empty: nowhere special
};

// Asked between operators; true ends the replay.
using Stop = std::function<bool()>;

class Replay {
 public:
  // Finds the operators; what this torch does not have is an error that names it.
  static std::expected<std::unique_ptr<Replay>, Halt> prepare(Program program);

  // One step at this batch size, from the same state each time. `events`: what was allocated and released, see Meter.
  std::expected<Replayed, Halt> step(std::int64_t batch, Meter& meter, const Stop& stop, std::vector<std::int64_t>* events);

  // What was made for batch sizes is let go.
  void forget_batches() { before_.forget_batches(); }

  const Program& program() const { return program_; }

 private:
  using Handles = std::vector<std::optional<c10::OperatorHandle>>;  // per operator; none for our own

  Replay(Program program, Handles handles);
  void run(std::size_t at, Bindings& bindings, Meter& meter);
  Halt halted(std::size_t at, std::string message) const;

  Program program_;
  Handles handles_;
  Before before_;
};

// The operator that runs now, for who has to say what a crash was in; empty between replays.
const char* running_operator();

}  // namespace hotlens::lab
