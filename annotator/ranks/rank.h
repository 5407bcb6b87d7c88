// One process of a training over several, in short: its steps, its collectives, and what it did between them.
//
// Everything that comparing ranks needs, so that the trace itself may go before the next one is read: some kilobytes a step. All times are
// of the rank's own clock, in nanoseconds since its epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/build/annotated.h"

namespace hotlens::ranks {

using attribution::Interval;
using attribution::kNothing;
using attribution::Stage;

// An exchange that all processes of a group take part in, as this one saw it: on the device from the start of its kernel, of Gloo and
// MPI from when the backend's thread began it.
struct Collective {
  std::string operation;                 // "all_reduce"
  std::string group;                     // the group's name, or its backend where none is told
  std::string type;                      // of an element: "Float"; empty where not told
  std::optional<std::int64_t> sequence;  // counts the group's operations, where told
  std::optional<std::int64_t> group_size;
  std::optional<std::int64_t> elements;  // that this process gives
  std::optional<Bytes> bytes;            // of the message, as nccl-tests count it
  std::size_t step = 0;                  // position in RankRecord::steps; of what lies between two, the later
  Ns start{}, end{};
};

struct RankStep {
  std::int64_t index = 0;
  Ns start{};  // of the host's span
  Ns wall{};   // until the device has caught up, where the host is ahead of it: StepAccount::window
};

// What it did. Where nothing ran, what ran next tells more.
struct Doing {
  Stage stage = Stage::other;
  Stage next = Stage::other;                          // of what is in no stage: the stage that came next
  std::uint32_t module = kNothing;                    // into RankRecord::modules
  std::uint32_t after = kNothing, before = kNothing;  // of host code between two modules inside `module`
  bool communicates = false;
  bool between_steps = false;

  friend auto operator<=>(const Doing&, const Doing&) = default;
};

struct Spent {
  std::uint32_t interval = 0;
  Doing doing;
  Ns time{};
};

struct RankRecord {
  std::int64_t rank = 0;
  std::optional<std::int64_t> world_size;
  std::string source;  // the trace's file name
  bool has_device = false;
  std::vector<RankStep> steps;
  std::vector<Collective> collectives;  // by start
  std::vector<std::string> modules;
  // What it did from one moment to the next; moments are starts and ends of collectives. Interval 0 lies before the first moment.
  std::vector<Ns> moments;
  std::vector<Spent> spent;    // by interval
  std::vector<Interval> busy;  // it worked, other than by exchanging; breaks of less than 20 µs closed

  std::size_t interval_at(Ns when) const;  // the interval that begins at this moment or around it
};

// `rank`: where the recording does not tell.
RankRecord record_of(const profile::Annotated& annotated, std::int64_t rank);

// "all_reduce" of "allreduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" and the like; the name itself where it is none we know.
std::string operation_named(std::string_view name);

}  // namespace hotlens::ranks
