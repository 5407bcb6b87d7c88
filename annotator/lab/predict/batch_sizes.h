// What another batch size would cost, from replays of the recorded step.
//
// Time is added, not scaled: what Python takes does not grow with the batch, so T(b) = T(real) + replay(b) - replay(recorded size), of
// replays that took turns; where the replay is slower than the script was, all replays are scaled to its pace. A DataLoader without workers
// makes a batch sample by sample: that part of the step grows with the size, but for 0.1 ms. A replay has no page faults;
// those of the script are taken to grow with the memory that a step needs. Whether a script has them at a size is chance: a small change of
// the heap starts or ends them. The interval reaches from none to one for each page that a step needs.
//
// Memory is the allocator's peak in the replay. A size that is not tried has a peak all the same: what is allocated and released comes in
// the same order at every size, each amount a straight line in it, and the peak is the highest sum on the way.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/common/units.h"
#include "annotator/lab/predict/recorded.h"

namespace hotlens::lab {

// From where the forward or the backward pass of a block begins to where that of the next one does (annotator/lab/FORMAT.md).
struct BlockSegment {
  std::int64_t block = -1;  // -1: before the first of them, or after the backward pass
  bool backward = false;
  Bytes net{}, rise{};
};

// A checkpointed block in the backward pass.
struct SecondRuns {
  std::vector<Ns> took;    // in each round
  std::int64_t saved = 0;  // tensors that it made again
};

// The worker's answer about one batch size.
struct Replays {
  std::int64_t batch = 0;
  std::vector<Ns> times;  // of each round
  Bytes start{}, peak{};
  std::vector<std::int64_t> events;               // where they were asked for: bytes, releases negative
  std::vector<BlockSegment> segments = {};        // of a choice of checkpointed blocks
  std::map<std::int64_t, SecondRuns> again = {};  // by block
};

// Why there is no number. `op` and `module`: where, if it is somewhere.
struct Refusal {
  std::int64_t batch = 0;
  std::string reason, op, module;
};

// The second size to record, which shows what follows the batch: smaller, so that it fits where the first one did.
std::int64_t second_size(std::int64_t batch);

// What is predicted where nobody names sizes: half, twice and four times, as `--batch-size` takes them.
std::string sizes_around(std::int64_t batch);

// The replays of an answer, or the worker's own words.
std::expected<std::vector<Replays>, Refusal> read_replays(const nlohmann::json& answer);

// Otherwise the replay is another step than the recorded one. On the CPU the two agree within 0.02 %. torch's allocator of a GPU counts
// what it gave: a block of more than 1 MiB is up to 1 MiB larger than what was asked for, as its cache happened to be; hence 2 % there.
struct SelfCheck {
  std::int64_t batch = 0;
  Bytes real{}, replayed{};
  bool on_cpu = true;
  double ratio() const;
  bool ok() const;
};
SelfCheck self_check(const Recorded& recorded, Bytes replayed);

// Nullopt where the two did not allocate alike, or the sum is more than can be counted.
std::optional<Bytes> peak_at(const Replays& one, const Replays& other, std::int64_t batch);

// The largest batch size whose peak is within `memory`, by peak_at(); 0: not even 1. Nullopt where peak_at() is, or memory has no end.
std::optional<std::int64_t> largest_within(const Replays& one, const Replays& other, Bytes memory);

// Where memory ends. Tensors alone are counted: what else the process and its allocator take comes on top.
struct MemoryEnd {
  Bytes memory{};
  std::string whose;  // "this machine", "the device"; empty: as it was given
  std::int64_t largest_batch = 0;
};

struct StepTime {
  Ns step{}, low{}, high{};
  Ns faults{};  // the part of the interval that page faults may take
};
// Minor page faults of a recorded step, on a processor that computes itself, and what one takes here.
struct StepFaults {
  std::int64_t count = 0;
  Ns each{};  // 0: they are left out
};
// Nullopt where there is no time.
std::optional<StepTime> measured_time(const std::vector<Ns>& real);
// `real`: steps of the recorded size, `fetching`: the part of such a step that makes its batches. Nullopt where one of them has no times.
std::optional<StepTime> step_time(const std::vector<Ns>& real, const StepFaults& faults, Ns fetching, const Replays& recorded,
                                  const Replays& other);

enum class Method : std::uint8_t { run, replay, line };
std::string_view name(Method method);

struct Point {
  std::int64_t batch = 0;
  Method method = Method::replay;  // run: measured, not predicted
  std::optional<StepTime> time;
  Bytes peak{};
  std::string note;  // why it was not tried
};

struct BatchSizes {
  std::string profile;
  std::int64_t batches = 1;       // that a step has, where their gradients are accumulated
  std::vector<SelfCheck> checks;  // of the recorded sizes
  std::vector<Point> points;      // by batch size
  std::vector<Refusal> refused;
  std::optional<MemoryEnd> end = {};
  Ns not_replayed{};  // of the measured step: neither operators nor what a loader makes; taken to be the same at every size
};

std::string as_json(const BatchSizes& predicted);
// What as_json() wrote; the error: it is something else.
Result<BatchSizes> read_batch_sizes(std::string_view text);
// Where the point has a time.
double samples_per_second(const BatchSizes& predicted, const Point& point);
// Samples per second at `point` for each one at `base`: 1.2 is a fifth more. Nullopt where one of them has no time.
struct Rate {
  double ratio = 0, low = 0, high = 0;
};
std::optional<Rate> rate(const Point& base, const Point& point);
std::string as_text(const BatchSizes& predicted, bool color);

}  // namespace hotlens::lab
